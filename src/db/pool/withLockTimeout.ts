import { setTimeout as delay } from 'node:timers/promises';
import { AppError } from '../../foundation/errors.js';
import { LOCK_NOT_AVAILABLE, sqlState } from '../sql/sqlState.js';
import type { StatementRunner } from '../sql/statementRunner.js';

/**
 * Everybody who uses a table queues behind a session that waits for its lock. Less than PostgreSQL's `deadlock_timeout`,
 * so that it is never an application's transaction that is ended.
 */
export const LOCK_TIMEOUT_MS = 300;
const PAUSE_MS = 200;
const PATIENCE_MS = 10_000;

/**
 * Runs statements that lock tables of an application, in the caller's transaction. If a lock is not available at once,
 * all locks that `change` took are released, and it runs again after a pause. Throws AppError TRANSACTION_CONFLICT, and what
 * `change` throws.
 */
export async function withLockTimeout(
  runner: StatementRunner,
  change: () => Promise<void>,
  patienceMs = PATIENCE_MS,
): Promise<void> {
  const until = performance.now() + patienceMs;
  for (;;) {
    await runner.query(`savepoint before_locks; set local lock_timeout = ${LOCK_TIMEOUT_MS}`);
    try {
      await change();
      await runner.query('set local lock_timeout to default; release savepoint before_locks');
      return;
    } catch (error) {
      if (sqlState(error) !== LOCK_NOT_AVAILABLE) throw error;
      await runner.query('rollback to savepoint before_locks');
      if (performance.now() > until) throw busy(error);
    }
    await delay(PAUSE_MS * (1 + Math.random()));
  }
}

/**
 * Runs grants on tables of an application, in the caller's transaction, until whose end changes of their definitions (`alter
 * table`, `truncate`) wait. Not tried again: savepoints would not let those go on. Throws AppError TRANSACTION_CONFLICT, and
 * what `change` throws.
 */
export async function withoutLockWait(runner: StatementRunner, change: () => Promise<void>): Promise<void> {
  await runner.query(`set local lock_timeout = ${LOCK_TIMEOUT_MS}`);
  try {
    await change();
  } catch (error) {
    if (sqlState(error) !== LOCK_NOT_AVAILABLE) throw error;
    throw new AppError('TRANSACTION_CONFLICT', 'A transaction is changing a table of the schema.', {
      hint: 'Try again when it has ended. pg_locks and pg_stat_activity show whose it is.',
      cause: error,
    });
  }
  await runner.query('set local lock_timeout to default');
}

function busy(cause: unknown): AppError {
  return new AppError('TRANSACTION_CONFLICT', 'Transactions that use the table did not end in time.', {
    hint: 'pg_locks and pg_stat_activity show whose they are. Try again when they have ended.',
    cause,
  });
}
