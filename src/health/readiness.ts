import { overdueIn, type Overdue } from '../db/ledger/backlogAlarm.js';
import { withTimeout } from '../foundation/withTimeout.js';
import type { BacklogReader } from './backlogReader.js';

/** Resolves if a dependency is healthy, and rejects otherwise. */
export type HealthCheck = () => Promise<unknown>;

/** By name as shown by /readyz: `postgres`, `queue`. */
export type HealthChecks = Readonly<Record<string, HealthCheck>>;

const CHECK_TIMEOUT_MS = 2_000;

/** @returns the names of the checks that fail or time out */
export async function findDown(checks: HealthChecks): Promise<readonly string[]> {
  const results = await Promise.all(
    Object.entries(checks).map(async ([name, check]) => ((await passes(check)) ? [] : [name])),
  );
  return results.flat();
}

function passes(check: HealthCheck): Promise<boolean> {
  const works = check().then(
    () => true,
    () => false,
  );
  return withTimeout(works, CHECK_TIMEOUT_MS, () => false);
}

/** @returns what has waited longer than the alarm threshold; empty while the backlog can't be read, which `postgres` reports */
export async function findOverdue(read: BacklogReader, alarmSeconds: number): Promise<readonly Overdue[]> {
  const backlog = alarmSeconds === 0 ? undefined : await read();
  return backlog ? overdueIn(backlog, alarmSeconds) : [];
}

/** The body of `/readyz`. */
export function readinessBody(ready: boolean, down: readonly string[], overdue: readonly Overdue[]): string {
  const waiting = overdue.map((one) => ({ ...one, oldestSeconds: Math.round(one.oldestSeconds) }));
  const status = ready ? 'ok' : 'unavailable';
  return JSON.stringify({ status, down, ...(waiting.length > 0 ? { overdue: waiting } : {}) });
}
