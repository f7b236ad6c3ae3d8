import type { Pool, PoolClient } from 'pg';

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
    // Its transaction is still open, or the connection is broken.
    client.release(true);
    throw error;
  }
}
