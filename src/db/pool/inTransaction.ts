import type { Knex } from 'knex';
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

/** The connection of knex's transaction, for cursors and for statements whose values are $1, $2, …. */
export function connectionOf(trx: Knex.Transaction): Promise<TransactionClient> {
  const { client } = trx as unknown as {
    readonly client: { acquireConnection(): Promise<TransactionClient> };
  };
  return client.acquireConnection();
}
