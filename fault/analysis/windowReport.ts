import type { Rig } from '../rig/rig.js';
import type { FaultWindow } from '../windows/window.js';
import type { Accounts } from './accounts.js';
import type { Duplicate } from './duplicates.js';
import { lossOf } from './losses.js';
import { timelineOf, type Timeline } from './timeline.js';
import { caughtAt, quantile, recoveries } from './recovery.js';
import { struckDeliveries } from './struck.js';

/** One line of the table of windows. */
export interface WindowRow {
  readonly window: string;
  readonly what: string;
  readonly kills: number;
  /** Deliveries of committed changes affected by the strikes. */
  readonly committed: number;
  readonly lost: number;
  readonly duplicates: number;
  /** Duplicates with an ambiguous attempt in the ledger. */
  readonly accounted: number;
  /** Until each progressed. Undefined if nothing had to recover. */
  readonly recoveryMs: { readonly p50: number; readonly p99: number; readonly max: number } | undefined;
  /** Until the last was accepted by the carrier or finished, however often it was struck. */
  readonly settledMaxMs: number | undefined;
  /** The deliveries that took longest to recover, for debugging. */
  readonly slowest: readonly Timeline[];
}

const SLOWEST = 3;

export function reportWindows(
  rig: Rig,
  windows: readonly FaultWindow[],
  accounts: Accounts,
  duplicates: readonly Duplicate[],
): readonly WindowRow[] {
  const lost = new Set(
    accounts.expected.flatMap((expected) =>
      expected.delivery && lossOf(expected, accounts) ? [expected.delivery.deliveryid] : [],
    ),
  );
  const caught = caughtAt(rig.strikes, accounts);
  return windows.map(({ name, what }) => {
    const strikes = rig.strikes.filter(({ window }) => window === name);
    const concerned = strikes.flatMap((strike) => struckDeliveries(strike, accounts));
    const twice = duplicates.filter(({ window }) => window === name);
    const recovered = strikes.flatMap((strike) => recoveries(strike, rig, caught, accounts));
    return {
      window: name,
      what,
      kills: strikes.length,
      committed: concerned.length,
      lost: concerned.filter((id) => lost.has(id)).length,
      duplicates: twice.length,
      accounted: twice.filter(({ accounted }) => accounted).length,
      recoveryMs: summary(recovered.map(({ movedMs }) => movedMs)),
      settledMaxMs: quantile(
        recovered.map(({ settledMs }) => settledMs),
        1,
      ),
      slowest: [...recovered]
        .sort((a, b) => b.movedMs - a.movedMs)
        .slice(0, SLOWEST)
        .map((recovery) => timelineOf(recovery, rig, accounts)),
    };
  });
}

function summary(values: readonly number[]): WindowRow['recoveryMs'] {
  const [p50, p99, max] = [0.5, 0.99, 1].map((share) => quantile(values, share));
  return p50 === undefined || p99 === undefined || max === undefined ? undefined : { p50, p99, max };
}
