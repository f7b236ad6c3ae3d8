import { setTimeout as delay } from 'node:timers/promises';
import type { Pool } from 'pg';
import { UsageError } from '../../../foundation/errors.js';
import { readFingerprint } from '../../catalog/fingerprint.js';
import { inTransaction, type TransactionClient } from '../../pool/inTransaction.js';
import { identifier, sql, statement, textConstant } from '../../sql/sql.js';

/** A tenant in one cell. */
export interface MovingTenant {
  readonly tenantid: number;
  readonly schema: string;
  /** Its database role there. */
  readonly role: string;
}

/** Requests, which change control tables, end earlier, at REQUEST_TIMEOUT_MS. */
const PATIENCE_MS = 60_000;
const POLL_MS = 10;

/** Any value will do: a move compares the fingerprints only with each other. */
const FINGERPRINT_SEED = 0n;

/** Changes with every change of the schema's structure. */
export function structureOf(pool: Pool, { schema }: MovingTenant): Promise<string> {
  return readFingerprint(pool, schema, FINGERPRINT_SEED);
}

/**
 * Takes the tenant's rights on its tables and says where it went, in the transaction that holds its writes: what writers had
 * committed is copied, and from its commit on nothing is written or read by the tenant, whatever a process remembers. Throws
 * UsageError when the structure is not the expected one any more, or another command has moved the tenant since.
 */
export async function fenceTenant(
  client: TransactionClient,
  pool: Pool,
  tenant: MovingTenant,
  {
    move,
    movedTo,
    structure,
  }: { readonly move: number; readonly movedTo: string; readonly structure: string },
): Promise<void> {
  const { tenantid, schema, role } = tenant;
  await client.query(statement`set local lock_timeout = ${PATIENCE_MS}`);
  // Waits for transactions that changed control tables: they have a lock on the row, or refer to it.
  const { rowCount } = await client.query(
    statement`select from rowpost.tenant where tenantid = $1 and moved_to is null and move < $2 for update`,
    [tenantid, move],
  );
  if (rowCount === 0) throw new UsageError(`tenant ${tenantid} is not here, or was moved again`);
  if ((await structureOf(pool, tenant)) !== structure) {
    throw new UsageError('the structure of the tables changed during the move: run the command again');
  }
  const all = sql`on all tables in schema ${identifier(schema)}`;
  await client.query(statement`revoke all ${all} from ${identifier(role)}`);
  // Through the role it has no rights any more, and backups go on.
  await client.query(statement`grant select ${all} to current_user`);
  await client.query(statement`update rowpost.tenant set moved_to = $2, move = $3 where tenantid = $1`, [
    tenantid,
    movedTo,
    move,
  ]);
}

/**
 * To be called after a fence. Statements that ask whether the tenant is handed over lock the table of tenants before they take their snapshot. So those
 * that lock it later know, and of those that hold it the earlier ones are waited for: they are short. Only the service asks:
 * writers of captured tables, of any tenant, lock the table for as long as their transactions last.
 */
export async function endOfEarlierTransactions(pool: Pool): Promise<void> {
  const { rows } = await pool.query<{ now: string }>(statement`select clock_timestamp()::text as now`);
  const until = performance.now() + PATIENCE_MS;
  while (performance.now() < until) {
    const { rowCount } = await pool.query(
      statement`select from pg_catalog.pg_locks l join pg_catalog.pg_stat_activity a using (pid)
       where l.locktype = 'relation' and l.relation = 'rowpost.tenant'::regclass and l.granted
         and a.usename = current_user and a.datname = current_database() and l.pid <> pg_backend_pid() and a.xact_start <= $1::timestamptz limit 1`,
      [rows[0]?.now],
    );
    if (rowCount === 0) return;
    await delay(POLL_MS);
  }
  throw new UsageError(
    "statements on the control tables don't end: see pg_stat_activity, and run the command again",
  );
}

/** Undoes a fence, and makes it impossible for this move to fence any more. Idempotent. */
export async function unfenceTenant(pool: Pool, tenant: MovingTenant, move: number): Promise<void> {
  await inTransaction(pool, async (client) => {
    const { rows } = await client.query<{ fenced: boolean }>(
      statement`select moved_to is not null as fenced from rowpost.tenant where tenantid = $1 and move <= $2 for update`,
      [tenant.tenantid, move],
    );
    const [row] = rows;
    if (!row) return;
    if (row.fenced) {
      const all = sql`on all tables in schema ${identifier(tenant.schema)}`;
      await client.query(statement`grant all ${all} to ${identifier(tenant.role)}`);
      await client.query(statement`revoke select ${all} from current_user`);
    }
    await client.query(statement`update rowpost.tenant set moved_to = null, move = $2 where tenantid = $1`, [
      tenant.tenantid,
      move,
    ]);
  });
}

/** Marks an arriving tenant as of this cell: from this commit on it is served, and its email sent. Idempotent. */
export async function activateTenant(pool: Pool, tenantid: number, move: number): Promise<void> {
  await inTransaction(pool, async (client) => {
    const { rowCount } = await client.query(
      statement`update rowpost.tenant set moved_to = null where tenantid = $1 and move = $2 and moved_to is not null`,
      [tenantid, move],
    );
    if (rowCount === 0) return;
    // New to the relay from now on.
    await client.query(
      statement`update rowpost.outbox set xid = pg_current_xact_id() where xid = ${textConstant(HELD_BACK)} and tenantid = $1`,
      [tenantid],
    );
    await client.query(statement`select rowpost.notify('rowpost_relay', '')`);
  });
}

/** `xid` of carried events. No transaction has these: no poll of the relay finds them. */
export const HELD_BACK = '2';
export const EVALUATED = '1';
