import type { StatementRunner } from '../sql/statementRunner.js';

/** SQL: how many locks PostgreSQL has for all sessions together. */
export const LOCK_CAPACITY = `(current_setting('max_locks_per_transaction')::int
  * (current_setting('max_connections')::int + current_setting('max_prepared_transactions')::int))`;

/** How many locks one transaction of the service may take at most. */
export async function readLockQuota(runner: StatementRunner): Promise<{ available: number; quota: number }> {
  const { rows } = await runner.query(`select ${LOCK_CAPACITY} as available`);
  const [{ available } = { available: 0 }] = rows as readonly { readonly available: number }[];
  return { available, quota: available / 2 };
}
