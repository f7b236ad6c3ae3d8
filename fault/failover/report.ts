import type { Accounts } from '../analysis/accounts.js';
import type { Duplicate } from '../analysis/duplicates.js';
import { lossOf } from '../analysis/losses.js';
import { quantile } from '../analysis/recovery.js';
import type { Rig } from '../rig/rig.js';
import type { Failover } from './strike.js';

/** One line of the table of failovers. */
export interface FailoverRow {
  readonly way: string;
  readonly failovers: number;
  /** Unsent emails of committed orders. Counts the whole run, as do the next two. */
  readonly lost: number;
  readonly duplicates: number;
  /** Of these, those with an ambiguous attempt on record. */
  readonly accounted: number;
  /** Error codes that clients got between the loss of the primary and the first order after it. */
  readonly responses: Readonly<Record<string, number>>;
  /** Retryable refusals without Retry-After. */
  readonly withoutRetryAfter: number;
  /** Without a primary; for a standby, without one that confirms commits. */
  readonly vacantMs: Times;
  /** From the promotion on, as the next two. */
  readonly writesMs: Times;
  readonly emailsMs: Times;
  readonly recoveryMs: Times;
}

interface Times {
  readonly p50: number;
  readonly p90: number;
  readonly max: number;
}

/** @param ways in the order of the table; those without a failover have no line */
export function reportFailovers(
  rig: Rig,
  ways: readonly string[],
  failovers: readonly Failover[],
  accounts: Accounts,
  duplicates: readonly Duplicate[],
): readonly FailoverRow[] {
  // Orders that are built to fail don't count.
  const refusals = [...rig.load.orders.values()].flatMap(({ doomed, refusal }) =>
    refusal && !doomed ? [refusal] : [],
  );
  return ways.flatMap((way) => {
    const done = failovers.filter((failover) => failover.way === way);
    if (done.length === 0) return [];
    const times = (values: readonly (number | undefined)[]): Times => {
      const all = values.map((value) => value ?? Infinity);
      return { p50: quantile(all, 0.5) ?? 0, p90: quantile(all, 0.9) ?? 0, max: Math.max(...all) };
    };
    const during = refusals.filter(({ atMs }) =>
      done.some(
        ({ lostAtMs, promotedAtMs, writesMs = Infinity }) =>
          atMs >= lostAtMs && atMs <= promotedAtMs + writesMs + 1_000,
      ),
    );
    return [
      {
        way,
        failovers: done.length,
        lost: accounts.expected.filter((expected) => lossOf(expected, accounts) !== undefined).length,
        duplicates: duplicates.length,
        accounted: duplicates.filter(({ accounted }) => accounted).length,
        responses: countBy(during.map(({ status, code }) => `${status} ${code}`)),
        withoutRetryAfter: during.filter(
          ({ code, retryAfter }) => code === 'DATABASE_UNAVAILABLE' && retryAfter === null,
        ).length,
        vacantMs: times(done.map(({ lostAtMs, promotedAtMs }) => promotedAtMs - lostAtMs)),
        writesMs: times(done.map(({ writesMs }) => writesMs)),
        emailsMs: times(done.map(({ emailsMs }) => emailsMs)),
        recoveryMs: times(done.map(({ recoveryMs }) => recoveryMs)),
      },
    ];
  });
}

function countBy(keys: readonly string[]): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const key of keys) counts[key] = (counts[key] ?? 0) + 1;
  return counts;
}
