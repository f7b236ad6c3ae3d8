import { setTimeout as delay } from 'node:timers/promises';
import type { ClientBase, Pool, PoolClient } from 'pg';
import { AppError } from '../../errors.js';
import type { Connector } from './connector.js';
import type { RoleNames } from './roleNames.js';
import { findTenantCode } from './tenantCode.js';
import { quoted } from '../sql.js';
import { inTransaction } from './inTransaction.js';
import { ensureTenantRole } from './tenantRoles.js';

/** Which connections serve a tenant: those shared with others, only ones of its own login, or those for the time being. */
export type TenantAccess = 'shared' | 'own' | 'changing';

interface Tenant {
  readonly tenantid: number;
  readonly schema: string;
}

/**
 * Lets the shared login enter the tenant's role exactly when its schema holds no code of its own. PostgreSQL then
 * decides at each transaction, so a process that has not heard of a change can't get it wrong. Throws what pg throws.
 */
export function settleSharedAccess(pool: Pool, names: RoleNames, tenant: Tenant): Promise<TenantAccess> {
  return inTransaction(pool, async (client) => {
    const isLocked = await lockTenant(client, tenant.tenantid, 'skip locked');
    return isLocked ? decide(client, names, tenant) : 'changing';
  });
}

async function decide(
  client: PoolClient,
  names: RoleNames,
  { tenantid, schema }: Tenant,
): Promise<TenantAccess> {
  const role = names.tenant(tenantid);
  const code = await findTenantCode(client, schema);
  const { rows } = await client.query<{ made: boolean; member: boolean }>(ROLES_SQL, [names.shared, role]);
  // Missing for a tenant of an earlier release, or of a dump that was restored into another database.
  if (rows[0]?.made !== true) await ensureTenantRole(client, names, tenantid);
  const isMember = rows[0]?.member === true;
  if (code.length > 0 && isMember) await client.query(`revoke ${quoted(role)} from ${quoted(names.shared)}`);
  if (code.length === 0 && !isMember) {
    if (!(await isCodeGone(client, role, schema))) return 'changing';
    await client.query(`grant ${quoted(role)} to ${quoted(names.shared)}`);
  }
  return code.length > 0 ? 'own' : 'shared';
}

/** Tenants that are never idle stay on connections of their own until one of the next checks. */
const MAX_IDLE_CHECKS = 10;

/**
 * Code that is not there may be on its way: made by a transaction of the tenant's own login that has not been committed.
 * So the schema is judged again once none is open.
 */
async function isCodeGone(client: PoolClient, role: string, schema: string): Promise<boolean> {
  for (let checks = 0; checks < MAX_IDLE_CHECKS; checks++) {
    // The view is the same for a whole transaction otherwise.
    await client.query('select pg_stat_clear_snapshot()');
    const { rowCount } = await client.query(
      `select from pg_catalog.pg_stat_activity
       where usename = $1 and datname = current_database() and state is distinct from 'idle' limit 1`,
      [role],
    );
    if (rowCount === 0) return (await findTenantCode(client, schema)).length === 0;
    await delay(POLL_MS);
  }
  return false;
}

const ROLES_SQL = `
  select count(*) = 2 as made,
    exists (select from pg_catalog.pg_auth_members m join pg_catalog.pg_roles s on s.oid = m.member
      join pg_catalog.pg_roles t on t.oid = m.roleid where s.rolname = $1 and t.rolname = $2) as member
  from pg_catalog.pg_roles where rolname in ($1, $2)`;

/**
 * Keeps the shared login out while `change` makes changes to the tenant's schema: whatever code they bring in, no shared
 * connection runs it, not even one that has entered the role before and waits for a lock. Throws what pg and `change` throw.
 */
export async function withoutSharedAccess<T>(
  pool: Pool,
  connector: Connector,
  names: RoleNames,
  tenantid: number,
  change: () => Promise<T>,
): Promise<T> {
  // Not of the pool, which others need meanwhile.
  const client = connector.createClient();
  // Its statements reject as well.
  client.on('error', () => undefined);
  try {
    await client.connect();
    // A process of the release before may have made the tenant.
    await client.query('begin');
    await ensureTenantRole(client, names, tenantid);
    await client.query('commit');
    // Held for as long as the change takes.
    await client.query('begin; set local idle_in_transaction_session_timeout = 0');
    await lockTenant(client, tenantid, 'wait');
    await pool.query(`revoke ${quoted(names.tenant(tenantid))} from ${quoted(names.shared)}`);
    await endOfSharedTransactions(pool, names);
    const result = await change();
    await client.query('commit');
    return result;
  } finally {
    await client.end();
  }
}

async function lockTenant(
  client: ClientBase,
  tenantid: number,
  mode: 'wait' | 'skip locked',
): Promise<boolean> {
  // A tenant that a process of the release before made has no row yet.
  await client.query('insert into rowpost.tenant_access values ($1) on conflict do nothing', [tenantid]);
  const { rowCount } = await client.query(
    `select from rowpost.tenant_access where tenantid = $1 for update ${mode === 'wait' ? '' : mode}`,
    [tenantid],
  );
  return (rowCount ?? 0) > 0;
}

const POLL_MS = 20;
/** Requests are ended long before. */
const MAX_WAIT_MS = 120_000;

/** Transactions that began before now may have entered the role; those that begin later can't. */
async function endOfSharedTransactions(pool: Pool, names: RoleNames): Promise<void> {
  const { rows } = await pool.query<{ now: string }>('select clock_timestamp()::text as now');
  for (let waitedMs = 0; waitedMs < MAX_WAIT_MS; waitedMs += POLL_MS) {
    const { rowCount } = await pool.query(
      `select from pg_catalog.pg_stat_activity
       where usename = $1 and datname = current_database() and xact_start <= $2::timestamptz limit 1`,
      [names.shared, rows[0]?.now],
    );
    if (rowCount === 0) return;
    await delay(POLL_MS);
  }
  throw new AppError('TRANSACTION_CONFLICT', 'Requests that run on shared connections do not end.');
}
