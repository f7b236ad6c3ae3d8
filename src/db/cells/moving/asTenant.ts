import type pg from 'pg';
import type { Database } from '../../pool/database.js';
import { identifier, sql, statement } from '../../sql/sql.js';
import type { MovingTenant } from './handOver.js';

// Casts, checks, policies and expressions of indexes may be code of the tenant, and code can undo SET ROLE: the tenant's rows
// are read and written by sessions that are logged in as its own role.

/** Both ends write and read values alike, so each row travels as PostgreSQL's own text of it. */
const EXACT = sql`
  set local extra_float_digits = 1; set local bytea_output = 'hex'; set local datestyle = 'ISO';
  set local intervalstyle = 'postgres'; set local statement_timeout = 0; set local idle_in_transaction_session_timeout = 0`;

/** Rows that a policy hides would be lost: that fails instead. */
const ALL_ROWS = sql`set local row_security = off`;

/**
 * Runs `work` on one snapshot of the tenant's tables. Throws what pg and `work` throw.
 * @param isFenced whether the role has lost its rights; it has them within this transaction, which is not committed
 */
export function readAsTenant<T>(
  database: Database,
  { tenantid, schema }: MovingTenant,
  isFenced: boolean,
  work: (client: pg.ClientBase) => Promise<T>,
): Promise<T> {
  return inSession(database, tenantid, async (client) => {
    await client.query(statement`set transaction isolation level repeatable read; ${EXACT}; ${ALL_ROWS}`);
    if (isFenced)
      await client.query(
        statement`grant select on all tables in schema ${identifier(schema)} to current_user`,
      );
    return work(client);
  });
}

/** Runs `work` in a transaction of the tenant's role, which owns the tables. Throws what pg and `work` throw. */
export function writeAsTenant(
  database: Database,
  { tenantid }: MovingTenant,
  work: (client: pg.ClientBase) => Promise<void>,
): Promise<void> {
  return inSession(database, tenantid, async (client) => {
    await client.query(statement`${EXACT}; ${ALL_ROWS}`);
    await work(client);
    await client.query('commit');
  });
}

/** Runs `work` in a transaction. What it does not commit is rolled back. */
async function inSession<T>(
  { tenants }: Database,
  tenantid: number,
  work: (client: pg.Client) => Promise<T>,
): Promise<T> {
  const client = await begun(tenants, tenantid);
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/** Where shared connections serve the tenant, sessions of its own login are ended while they are idle: before they begin. */
const MAX_STARTS = 5;

async function begun(tenants: Database['tenants'], tenantid: number): Promise<pg.Client> {
  for (let starts = 1; ; starts++) {
    let client: pg.Client | undefined;
    try {
      client = await tenants.connectDirectly(tenantid);
      // Its statements reject as well.
      client.on('error', () => undefined);
      await client.query('begin');
      return client;
    } catch (error) {
      await client?.end();
      if (starts === MAX_STARTS) throw error;
    }
  }
}
