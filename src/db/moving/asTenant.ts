import type pg from 'pg';
import type { Pool } from 'pg';
import { inTransaction } from '../connection/inTransaction.js';
import { quoted } from '../sql.js';
import type { MovingTenant } from './handOver.js';

// Casts, checks, policies and expressions of indexes may be code of the tenant: its rows are read and written by its own
// role, and by no other.

/** Both ends write and read values alike, so each row travels as PostgreSQL's own text of it. */
const EXACT = `
  set local extra_float_digits = 1; set local bytea_output = 'hex'; set local datestyle = 'ISO';
  set local intervalstyle = 'postgres'; set local statement_timeout = 0; set local idle_in_transaction_session_timeout = 0`;

/** Rows that a policy hides would be lost: that fails instead. */
const ALL_ROWS = 'set local row_security = off';

/**
 * Runs `work` on one snapshot of the tenant's tables. Throws what pg and `work` throw.
 * @param isFenced whether the role has lost its rights; it has them within this transaction, which is not committed
 */
export async function readAsTenant<T>(
  pool: Pool,
  { schema, role }: MovingTenant,
  isFenced: boolean,
  work: (client: pg.ClientBase) => Promise<T>,
): Promise<T> {
  const client = await pool.connect();
  try {
    await client.query(`begin isolation level repeatable read; ${EXACT}; ${ALL_ROWS}`);
    if (isFenced) {
      await client.query(`grant select on all tables in schema ${quoted(schema)} to ${quoted(role)}`);
    }
    await client.query(`set local role ${quoted(role)}`);
    const result = await work(client);
    await client.query('rollback');
    client.release();
    return result;
  } catch (error) {
    client.release(true);
    throw error;
  }
}

/** Runs `work` in a transaction of the tenant's role, which owns the tables. Throws what pg and `work` throw. */
export function writeAsTenant(
  pool: Pool,
  { role }: MovingTenant,
  work: (client: pg.ClientBase) => Promise<void>,
): Promise<void> {
  return inTransaction(pool, async (client) => {
    await client.query(`${EXACT}; ${ALL_ROWS}; set local role ${quoted(role)}`);
    await work(client);
  });
}
