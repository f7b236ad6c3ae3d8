import type { Pool, PoolClient } from 'pg';
import type { StatementRunner } from '../sql/statementRunner.js';

/** A connection inside a transaction. */
export type TransactionClient = PoolClient;

/** Throws what pg and `work` throw, without committing anything. */
export async function inTransaction<T>(
  pool: Pool,
  work: (client: TransactionClient) => Promise<T>,
): Promise<T> {
  const client = await pool.connect();
  try {
    await client.query('begin');
    const result = await work(client);
    await client.query('commit');
    client.release();
    return result;
  } catch (error) {
    const isOver = await client.query('rollback').then(
      () => true,
      () => false,
    );
    // Otherwise the connection is broken.
    client.release(!isOver);
    throw error;
  }
}

/**
 * Runs statements in the caller's transaction, which continues without their effects if they fail with an expected error.
 * @returns whether they succeeded
 */
export async function attempt(
  client: StatementRunner,
  work: () => Promise<unknown>,
  isExpected: (error: unknown) => boolean,
): Promise<boolean> {
  await client.query('savepoint attempt');
  try {
    await work();
  } catch (error) {
    if (!isExpected(error)) throw error;
    await client.query('rollback to savepoint attempt');
    return false;
  }
  await client.query('release savepoint attempt');
  return true;
}
