import { setTimeout as delay } from 'node:timers/promises';
import type { ClientBase, Pool, PoolClient } from 'pg';
import type { Connector } from '../pool/connector.js';
import type { RoleNames } from './roleNames.js';
import type { StatementRunner } from '../sql/statementRunner.js';
import { findNotPlain } from './plainSchema.js';
import { identifier, quoted, statement } from '../sql/sql.js';
import { inTransaction } from '../pool/inTransaction.js';
import { setSearchPath } from '../pool/sessionSettings.js';
import { ensureTenantRole } from './tenantRoles.js';

/** Which connections serve a tenant: shared ones, only those of its own login, or the latter while the schema is changing. */
export type TenantAccess = 'shared' | 'own' | 'changing';

interface Tenant {
  readonly tenantid: number;
  readonly schema: string;
}

/**
 * Lets the shared login switch to the tenant's role if and only if the tenant's schema is plain and nobody is logged in, or can
 * log in, as the tenant: it could create code at any time. PostgreSQL then enforces this in each transaction, so a
 * process that missed a change can't get it wrong. Throws what pg throws.
 */
export async function settleSharedAccess(
  pool: Pool,
  names: RoleNames,
  tenant: Tenant,
): Promise<TenantAccess> {
  const settle = (): Promise<TenantAccess | 'locked out'> =>
    inTransaction(pool, async (client) => {
      const isLocked = await lockTenant(client, tenant.tenantid, 'skip locked');
      return isLocked ? decide(client, names, tenant) : 'changing';
    });
  const first = await settle();
  if (first !== 'locked out') return first;
  // Since that commit, nobody can log in. Unless a process lets the tenant again meanwhile.
  const second = await settle();
  return second === 'locked out' ? 'changing' : second;
}

async function decide(
  client: PoolClient,
  names: RoleNames,
  { tenantid, schema }: Tenant,
): Promise<TenantAccess | 'locked out'> {
  const role = names.tenant(tenantid);
  const isPlain = async (): Promise<boolean> =>
    (await findNotPlain(client, schema, { shared: names.shared, tenant: role })) === undefined;
  const plain = await isPlain();
  const { rows } = await client.query<RoleState>(ROLES_SQL, [names.shared, role]);
  const { made, member, finds, logs_in: logsIn } = rows[0] ?? {};
  // It is missing after a dump was restored into another database.
  if (made !== true) await ensureTenantRole(client, names, tenantid);
  if (finds !== true) await setSearchPath(client, role, schema);
  if (member === true && plain && logsIn !== true) return 'shared';
  if (member === true) await revokeFromShared(client, names, role);
  if (!plain) return 'own';
  if (!(await isIdle(client, role))) return 'changing';
  if (logsIn === true) {
    await client.query(statement`alter role ${identifier(role)} nologin password null`);
    return 'locked out';
  }
  if (!(await areLoginsOver(client)) || !(await endIdleSessions(client, role))) return 'changing';
  if (!(await isLeftAlone(client, schema, names.shared))) return 'changing';
  // A transaction that has ended since may have created code.
  if (!(await isPlain())) return 'changing';
  await client.query(statement`grant ${identifier(role)} to ${identifier(names.shared)}`);
  return 'shared';
}

/** Since PostgreSQL 16, a membership that somebody else granted remains. Throws then, and what pg throws. */
async function revokeFromShared(runner: StatementRunner, { shared }: RoleNames, role: string): Promise<void> {
  await runner.query(statement`revoke ${identifier(role)} from ${identifier(shared)}`);
  const { rows } = await runner.query(
    `select m.grantor::regrole::text as grantor from pg_catalog.pg_auth_members m
     where m.roleid = $1::text::regrole and m.member = $2::text::regrole`,
    [quoted(role), quoted(shared)],
  );
  const [left] = rows as readonly { grantor: string }[];
  if (left === undefined) return;
  throw new Error(
    `${left.grantor} made "${shared}" a member of "${role}", which has to end: as ${left.grantor}, revoke ${quoted(role)} from ${quoted(shared)}`,
  );
}

interface RoleState {
  readonly made: boolean;
  readonly member: boolean;
  readonly finds: boolean;
  readonly logs_in: boolean;
}

/** A tenant that is never idle keeps its own connections until a later check. */
const MAX_IDLE_CHECKS = 10;

/** Whether no transaction of the tenant's own login is open: it may have created code without having committed yet. */
function isIdle(client: PoolClient, role: string): Promise<boolean> {
  return eventually(async () => {
    const { rowCount } = await client.query(
      `select from pg_catalog.pg_stat_activity
       where usename = $1 and datname = current_database() and state is distinct from 'idle' limit 1`,
      [role],
    );
    return rowCount === 0;
  }, client);
}

/**
 * Whether the logins under way have ended. PostgreSQL checks whether a role may log in, applies the role's settings, which may take
 * seconds, and only then shows whose session it is. Meanwhile the session has a lock on the database.
 */
function areLoginsOver(client: PoolClient): Promise<boolean> {
  let waitedFor: ReadonlySet<number> | undefined;
  return eventually(async () => {
    const { rows } = await client.query<{ pid: number }>(LOGINS_UNDER_WAY);
    // Those that began later can't log in as the tenant.
    waitedFor = new Set(rows.map(({ pid }) => pid).filter((pid) => waitedFor?.has(pid) ?? true));
    return waitedFor.size === 0;
  }, client);
}

const LOGINS_UNDER_WAY = `
  select l.pid from pg_catalog.pg_locks l left join pg_catalog.pg_stat_activity a on a.pid = l.pid
  where l.locktype = 'object' and l.classid = 'pg_catalog.pg_database'::regclass and a.usesysid is null and l.pid is not null
    and l.objid = (select oid from pg_catalog.pg_database where datname = current_database())`;

/** @returns whether no session of the tenant's own login is left */
function endIdleSessions(client: PoolClient, role: string): Promise<boolean> {
  return eventually(async () => {
    const { rowCount } = await client.query(
      `select case when state = 'idle' then pg_catalog.pg_terminate_backend(pid) end
       from pg_catalog.pg_stat_activity where usename = $1 and datname = current_database()`,
      [role],
    );
    return rowCount === 0;
  }, client);
}

/**
 * Whether no transaction of anybody else is changing the schema: code that it has created shows once it commits, also if its role
 * has lost its rights since. What creates code in somebody else's schema, or on a table there, locks these until it ends.
 */
function isLeftAlone(client: PoolClient, schema: string, shared: string): Promise<boolean> {
  return eventually(async () => {
    const { rowCount } = await client.query(CHANGED_BY_OTHERS, [schema, shared]);
    return rowCount === 0;
  }, client);
}

/** Also by prepared transactions, which have no session. */
const CHANGED_BY_OTHERS = `
  with space as materialized (select oid from pg_catalog.pg_namespace where nspname = $1)
  select from pg_catalog.pg_locks l left join pg_catalog.pg_stat_activity a on a.pid = l.pid
    left join pg_catalog.pg_roles r on r.oid = a.usesysid
  where l.database = (select oid from pg_catalog.pg_database where datname = current_database())
    and (l.pid is null or not r.rolsuper and r.rolname not in (current_user, $2))
    and (l.locktype = 'object' and l.classid = 'pg_catalog.pg_namespace'::regclass and l.objid = (select oid from space)
      or l.locktype = 'relation' and l.mode in ('ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')
        and l.relation in (select d.objid from pg_catalog.pg_depend d
          where d.refclassid = 'pg_catalog.pg_namespace'::regclass and d.refobjid = (select oid from space)
            and d.classid = 'pg_catalog.pg_class'::regclass))
  limit 1`;

async function eventually(isTrue: () => Promise<boolean>, client: PoolClient): Promise<boolean> {
  for (let checks = 0; checks < MAX_IDLE_CHECKS; checks++) {
    // Otherwise the view stays the same for the whole transaction.
    await client.query('select pg_stat_clear_snapshot()');
    if (await isTrue()) return true;
    await delay(POLL_MS);
  }
  return false;
}

const ROLES_SQL = `
  select count(*) = 2 as made,
    exists (select from pg_catalog.pg_auth_members m join pg_catalog.pg_roles s on s.oid = m.member
      join pg_catalog.pg_roles t on t.oid = m.roleid where s.rolname = $1 and t.rolname = $2) as member,
    exists (select from pg_catalog.pg_db_role_setting p, unnest(p.setconfig) o
      where p.setrole = (select oid from pg_catalog.pg_roles where rolname = $2) and o like 'search\\_path=%') as finds,
    coalesce(bool_or(rolcanlogin) filter (where rolname = $2), false) as logs_in
  from pg_catalog.pg_roles where rolname in ($1, $2)`;

/**
 * Lets the tenant log in, unless shared connections serve it. Takes no lock that others wait for: the tenant itself may block a
 * change of its role. Throws what pg throws.
 * @returns `changing` while somebody decides who serves it
 */
export function letLogIn(
  pool: Pool,
  names: RoleNames,
  tenantid: number,
  change: (client: PoolClient) => Promise<void>,
): Promise<TenantAccess> {
  return inTransaction(pool, async (client) => {
    if (!(await lockTenant(client, tenantid, 'skip locked'))) return 'changing';
    const { rows } = await client.query<RoleState>(ROLES_SQL, [names.shared, names.tenant(tenantid)]);
    if (rows[0]?.member === true) return 'shared';
    await change(client);
    return 'own';
  });
}

/**
 * Keeps the shared login out while `change` changes the tenant's schema: no shared connection runs code that it adds, not even
 * one that switched to the role earlier and waits for a lock. Throws what pg and `change` throw.
 * @param begin is called once the shared login can't enter, before `change`
 */
export async function withoutSharedAccess<T>(
  pool: Pool,
  connector: Connector,
  names: RoleNames,
  tenantid: number,
  { begin, change }: { readonly begin: () => Promise<void>; readonly change: () => Promise<T> },
): Promise<T> {
  // Not from the pool, whose connections others need.
  const client = connector.createClient();
  // Its statements reject as well.
  client.on('error', () => undefined);
  try {
    await client.connect();
    // It is missing after a dump was restored into another database.
    await client.query('begin');
    await ensureTenantRole(client, names, tenantid);
    await client.query('commit');
    // The lock is held for as long as the change takes.
    await client.query('begin; set local idle_in_transaction_session_timeout = 0');
    await lockTenant(client, tenantid, 'wait');
    await inTransaction(pool, async (revoking) => {
      // A replica goes on from here once its transactions that may have switched to the role have ended.
      await revoking.query('lock table rowpost_tenant.replica_lock in access exclusive mode');
      await revokeFromShared(revoking, names, names.tenant(tenantid));
    });
    await begin();
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
  // The row is created when the tenant is first locked.
  await client.query('insert into rowpost.tenant_access values ($1) on conflict do nothing', [tenantid]);
  const { rowCount } = await client.query(
    mode === 'wait'
      ? 'select from rowpost.tenant_access where tenantid = $1 for update'
      : 'select from rowpost.tenant_access where tenantid = $1 for update skip locked',
    [tenantid],
  );
  return (rowCount ?? 0) > 0;
}

const POLL_MS = 20;
/** Requests time out long before. */
const LONGEST_REQUEST_MS = 120_000;

/**
 * Waits for transactions that began before now, which may have switched to the role; later ones can't. PostgreSQL can't end some
 * computations, of any tenant: their sessions are not waited for, but terminated, and run nothing after that.
 */
export async function endOfSharedTransactions(
  pool: Pool,
  names: RoleNames,
  longestRequestMs = LONGEST_REQUEST_MS,
): Promise<void> {
  const { rows } = await pool.query<{ now: string; sees: boolean }>(
    "select clock_timestamp()::text as now, pg_catalog.pg_has_role(oid, 'usage') as sees from pg_catalog.pg_roles where rolname = $1",
    [names.shared],
  );
  // PostgreSQL hides from other roles when a transaction began.
  const [start] = rows;
  if (start?.sees !== true) {
    throw new Error(
      `"${names.service}" does not have the rights of "${names.shared}", and so can't see its transactions: run "rowpost release"`,
    );
  }
  for (;;) {
    const { rows: waited } = await pool.query<{ ended: boolean | null }>(
      `select case when xact_start < clock_timestamp() - make_interval(secs => $3 / 1000.0)
         then pg_catalog.pg_terminate_backend(pid) end as ended
       from pg_catalog.pg_stat_activity
       where usename = $1 and datname = current_database() and xact_start <= $2::timestamptz`,
      [names.shared, start.now, longestRequestMs],
    );
    if (waited.every(({ ended }) => ended === true)) return;
    await delay(POLL_MS);
  }
}
