import type { Inflicted } from '../faults/inflict.js';
import type { Accounts } from './accounts.js';
import type { Duplicate } from './duplicates.js';
import { lossOf } from './losses.js';

/** One line of the table of dependency faults. */
export interface FaultRow extends Omit<Inflicted, 'orders'> {
  readonly events: number;
  readonly lost: number;
  readonly duplicates: number;
  readonly accounted: number;
}

export function reportFaults(
  inflicted: readonly Inflicted[],
  accounts: Accounts,
  duplicates: readonly Duplicate[],
): readonly FaultRow[] {
  return inflicted.map(({ orders, ...row }) => {
    const marks = new Set(orders.map(({ mark }) => mark));
    const met = accounts.expected.filter(({ order }) => marks.has(order.mark));
    const twice = duplicates.filter(({ window }) => window === row.fault);
    return {
      ...row,
      events: new Set(met.map(({ order }) => order.mark)).size,
      lost: met.filter((expected) => lossOf(expected, accounts) !== undefined).length,
      duplicates: twice.length,
      accounted: twice.filter(({ accounted }) => accounted).length,
    };
  });
}
