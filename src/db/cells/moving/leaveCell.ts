import type { Pool } from 'pg';
import { inTransaction } from '../../pool/inTransaction.js';
import { sqlState } from '../../sql/sqlState.js';
import { identifier, statement } from '../../sql/sql.js';
import { requireDroppable } from '../../tenants/tenantStorage.js';
import { forgetDeliveries, forgetEvents } from './carryLedger.js';
import type { MovingTenant } from './handOver.js';

const DEPENDENT_OBJECTS = '2BP01';

/**
 * Removes a tenant from a cell that does not serve it: what it handed over, or what a move that was aborted left there.
 * The files' bytes stay, since the other cell has them in the same storage. Idempotent. Throws AppError SCHEMA_TOO_LARGE.
 * @param before no move from this one on has touched the tenant
 * @param keepsTables leaves its schema and role, which a subscription fills
 * @returns false when the cell serves the tenant
 */
export async function leaveCell(
  pool: Pool,
  tenant: MovingTenant,
  before: number,
  keepsTables = false,
): Promise<boolean> {
  const { tenantid, schema, role } = tenant;
  const isForgotten = await inTransaction(pool, async (client) => {
    await client.query(statement`set local statement_timeout = 0`);
    const { rows } = await client.query<{ mayLeave: boolean }>(
      statement`select moved_to is not null and move <= $2 as "mayLeave" from rowpost.tenant where tenantid = $1 for update`,
      [tenantid, before],
    );
    if (rows[0]?.mayLeave === false) return false;
    await forgetEvents(client, tenantid);
    return true;
  });
  if (!isForgotten) return false;
  await forgetDeliveries(pool, tenantid);
  await inTransaction(pool, async (client) => {
    await client.query(statement`set local statement_timeout = 0`);
    await client.query(statement`delete from rowpost.upload where tenantid = $1`, [tenantid]);
    // With its tenant: the files of tenants that are gone are swept.
    await client.query(statement`delete from rowpost.file where tenantid = $1`, [tenantid]);
    await client.query(statement`delete from rowpost.tenant where tenantid = $1`, [tenantid]);
  });
  await lockOut(pool, role);
  if (keepsTables) return true;
  await inTransaction(pool, async (client) => {
    await client.query(statement`set local statement_timeout = 0`);
    const { rows } = await client.query(
      statement`select from pg_catalog.pg_roles where rolname = $1::text::name`,
      [role],
    );
    if (rows.length === 0) return;
    await requireDroppable(client, role, schema);
    // Whoever else owns a schema of this name keeps it.
    const { rowCount } = await client.query(
      statement`select from pg_catalog.pg_namespace n join pg_catalog.pg_roles r on r.oid = n.nspowner
       where n.nspname = $1::text::name and r.rolname = $2::text::name`,
      [schema, role],
    );
    if (rowCount === 1) await client.query(statement`drop schema ${identifier(schema)} cascade`);
    await client.query(statement`drop owned by ${identifier(role)} cascade; savepoint role`);
    // It may own something in another database.
    await client.query(statement`drop role ${identifier(role)}`).catch(async (error: unknown) => {
      if (sqlState(error) !== DEPENDENT_OBJECTS) throw error;
      await client.query(statement`rollback to savepoint role`);
    });
  });
  return true;
}

/** Nobody is logged in as the role any more. Sessions that outlived it would have no rights, should the tenant come back. */
export async function lockOut(pool: Pool, role: string): Promise<void> {
  const { rows } = await pool.query(
    statement`select from pg_catalog.pg_roles where rolname = $1::text::name`,
    [role],
  );
  if (rows.length === 0) return;
  await pool.query(statement`alter role ${identifier(role)} nologin`);
  await pool.query(
    statement`select pg_terminate_backend(pid) from pg_catalog.pg_stat_activity
     where usename = $1::text::name and datname = current_database()`,
    [role],
  );
}
