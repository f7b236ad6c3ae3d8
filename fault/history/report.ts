import type { Accounts } from '../analysis/accounts.js';
import type { Duplicate } from '../analysis/duplicates.js';
import { lossOf } from '../analysis/losses.js';
import { quantile } from '../analysis/recovery.js';
import type { Rig } from '../rig/rig.js';
import { isLost } from '../rig/timeMachine.js';
import { WAYS, type HistoryStrike } from './strike.js';

/** One row of the table on PostgreSQL going back in time. */
export interface HistoryRow {
  readonly way: string;
  readonly strikes: number;
  readonly backMs: { readonly min: number; readonly max: number };
  /** Unsent emails of surviving orders. Counts the whole run, as do the next three. */
  readonly lost: number;
  /** Emails sent again, each with an ambiguous attempt on record. */
  readonly duplicates: number;
  /** Emails sent again because their record was lost. */
  readonly withoutRecord: number;
  /** Emails sent for orders that were lost afterwards. */
  readonly gone: number;
  readonly recoveryMs: { readonly p50: number; readonly max: number };
}

export function reportHistory(
  rig: Rig,
  strikes: readonly HistoryStrike[],
  accounts: Accounts,
  duplicates: readonly Duplicate[],
): readonly HistoryRow[] {
  const due = new Set(accounts.expected.map(({ order }) => order.mark));
  const markOf = (subject: string): string => subject.split(' ')[1] ?? '';
  return WAYS.flatMap((way) => {
    const done = strikes.filter((strike) => strike.way === way);
    if (done.length === 0) return [];
    const times = done.map(({ lost }) => lost);
    const unknown = rig.carrier.entries.filter(
      ({ accepted, receivedAtMs }) => accepted && isLost(times, receivedAtMs),
    );
    const back = done.map(({ backMs }) => backMs);
    const recovery = done.map(({ recoveryMs }) => recoveryMs ?? Infinity);
    return [
      {
        way,
        strikes: done.length,
        backMs: { min: Math.min(...back), max: Math.max(...back) },
        lost: accounts.expected.filter((expected) => lossOf(expected, accounts) !== undefined).length,
        duplicates: duplicates.length,
        withoutRecord: unknown.filter(({ subject }) => due.has(markOf(subject))).length,
        gone: unknown.filter(({ subject }) => !due.has(markOf(subject))).length,
        recoveryMs: { p50: quantile(recovery, 0.5) ?? 0, max: Math.max(...recovery) },
      },
    ];
  });
}
