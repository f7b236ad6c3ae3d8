import type { Pool } from 'pg';
import { inTransaction } from '../connection/inTransaction.js';
import { sqlState } from '../sqlState.js';
import { quoted } from '../sql.js';
import { forgetLedger } from './carryLedger.js';
import { stopNotingChanges } from './followChanges.js';
import type { MovingTenant } from './handOver.js';

const DEPENDENT_OBJECTS = '2BP01';

/**
 * Removes a tenant from a cell that does not serve it: what it handed over, or what a move that was broken off left there.
 * The files' bytes stay, since the other cell has them in the same storage. Idempotent.
 * @param before no move from this one on has touched the tenant
 * @returns false when the cell serves the tenant
 */
export async function leaveCell(pool: Pool, tenant: MovingTenant, before: number): Promise<boolean> {
  const { tenantid, schema, role } = tenant;
  const isGone = await inTransaction(pool, async (client) => {
    await client.query('set local statement_timeout = 0');
    const { rows } = await client.query<{ mayLeave: boolean }>(
      `select moved_to is not null and move <= $2 as "mayLeave" from rowpost.tenant where tenantid = $1 for update`,
      [tenantid, before],
    );
    if (rows[0]?.mayLeave === false) return false;
    await forgetLedger(client, tenantid);
    await client.query('delete from rowpost.upload where tenantid = $1', [tenantid]);
    // With its tenant: the files of tenants that are gone are swept.
    await client.query('delete from rowpost.file where tenantid = $1', [tenantid]);
    await client.query('delete from rowpost.tenant where tenantid = $1', [tenantid]);
    return true;
  });
  if (!isGone) return false;
  await stopNotingChanges(pool, tenant);
  await endSessions(pool, role);
  await inTransaction(pool, async (client) => {
    await client.query(`set local statement_timeout = 0; drop schema if exists ${quoted(schema)} cascade`);
    const { rows } = await client.query('select from pg_catalog.pg_roles where rolname = $1', [role]);
    if (rows.length === 0) return;
    await client.query(`drop owned by ${quoted(role)}; savepoint role`);
    // It may own something in another database.
    await client.query(`drop role ${quoted(role)}`).catch(async (error: unknown) => {
      if (sqlState(error) !== DEPENDENT_OBJECTS) throw error;
      await client.query('rollback to savepoint role');
    });
  });
  return true;
}

/** Sessions that outlived their role would have no rights, should the tenant come back. */
async function endSessions(pool: Pool, role: string): Promise<void> {
  const { rows } = await pool.query('select from pg_catalog.pg_roles where rolname = $1', [role]);
  if (rows.length === 0) return;
  await pool.query(`alter role ${quoted(role)} nologin`);
  await pool.query(
    `select pg_terminate_backend(pid) from pg_catalog.pg_stat_activity
     where usename = $1 and datname = current_database()`,
    [role],
  );
}
