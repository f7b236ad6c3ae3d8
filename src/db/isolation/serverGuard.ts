import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';
import { identifier, join, statement } from '../sql/sql.js';
import { LOCK_CAPACITY } from './lockCapacity.js';
import type { RoleNames } from './roleNames.js';

/** A session that was ended. */
export interface EndedSession {
  readonly role: string;
  readonly pid: number;
  readonly locks: number;
}

const POLL_MS = 100;

/**
 * Runs `work`, and meanwhile ends tenants' sessions that hold it up. Throws what `work` throws.
 * @param onFailure the first time that this fails; it is tried again
 */
export async function withoutHolders<T>(
  guard: ServerGuard,
  onFailure: (error: unknown) => void,
  work: () => Promise<T>,
): Promise<T> {
  let isOver = false;
  const watch = async (): Promise<void> => {
    let report = onFailure;
    while (!isOver) {
      await guard.endHoldingSessions().catch((error: unknown) => {
        report(error);
        report = () => undefined;
      });
      await delay(POLL_MS);
    }
    await guard.close();
  };
  const watched = watch();
  try {
    return await work();
  } finally {
    isOver = true;
    await watched;
  }
}

/**
 * How long the service, and PostgreSQL's autovacuum or a backup, may wait for a lock of a tenant; and how many transactions may begin
 * during one of a tenant.
 */
export interface Patience {
  readonly serviceMs: number;
  readonly autovacuumMs: number;
  readonly transactions: number;
}

/** The service's `lock_timeout` is longer; and by default, PostgreSQL insists on vacuuming after as many transactions. */
export const PATIENCE: Patience = { serviceMs: 2_000, autovacuumMs: 60_000, transactions: 200_000_000 };

/**
 * Share of PostgreSQL's notification queue that one session may hold up. PostgreSQL doesn't say which one does, so the oldest transaction is
 * ended, then the next, until the queue is read; beyond twice as much, all of them.
 */
const MAX_NOTIFICATIONS = 0.25;
/** Listeners read notifications immediately, except in a transaction. */
const MAX_LISTENING_SECONDS = 5;

/**
 * PostgreSQL has one lock table and one notification queue for the whole server, without quotas: one tenant's
 * `pg_advisory_lock` in a loop, or LISTEN in a transaction that never ends, blocks every write. When half of the locks is in use, this
 * terminates the sessions of tenants whose sessions hold an eighth together, or the most; when a quarter of the queue is, the oldest
 * of those that may hold it up.
 *
 * It also terminates those that the service or autovacuum wait for: a role that may use a schema or a database locks its row in the
 * catalog by revoking what it has not granted, and a view by preparing a statement that it may not run. Those that wait for a lock
 * before which all others would queue. And those whose transaction is so old that PostgreSQL, which keeps all dead rows for it, would
 * run out of transaction ids.
 */
export class ServerGuard {
  #client: pg.Client | undefined;

  constructor(
    private readonly createClient: () => pg.Client,
    private readonly names: () => Promise<RoleNames>,
    private readonly patience = PATIENCE,
  ) {}

  /** Throws what pg throws; the next call connects again. */
  async endHoldingSessions(): Promise<readonly EndedSession[]> {
    try {
      const { tenantPrefix, shared } = await this.names();
      const { serviceMs, autovacuumMs, transactions } = this.patience;
      const waits = [Math.min(serviceMs, autovacuumMs), transactions];
      const values = [tenantPrefix, shared, serviceMs, autovacuumMs, transactions];
      this.#client ??= await this.#connect(values);
      const { rows } = await this.#client.query<{ isHeld: boolean }>(STATE, waits);
      if (rows[0]?.isHeld !== true) return [];
      const ended = await this.#client.query<EndedSession>(END, values);
      return ended.rows;
    } catch (error) {
      await this.close();
      throw error;
    }
  }

  async close(): Promise<void> {
    const client = this.#client;
    this.#client = undefined;
    await client?.end().catch(() => undefined);
  }

  /**
   * Keeps a transaction open, which retains the catalog locks that it needs when no others are available. It holds no
   * snapshot between statements.
   */
  async #connect(values: readonly unknown[]): Promise<pg.Client> {
    const client = this.createClient();
    client.on('error', () => undefined);
    await client.connect();
    await client.query('begin read only; set local idle_in_transaction_session_timeout = 0');
    await client.query('select from pg_catalog.pg_stats limit 1');
    const { rows } = await client.query<{ name: string }>(READABLE_CATALOGS);
    const catalogs = rows.map(({ name }) => identifier('pg_catalog', name));
    await client.query(statement`lock table ${join(catalogs)} in access share mode`);
    await client.query(END, [...values]);
    return client;
  }
}

/** The rest, of roles and statistics, is locked by the views that show it. */
const READABLE_CATALOGS = statement`
  select relname::text as name from pg_catalog.pg_class
  where relnamespace = 'pg_catalog'::regnamespace and relkind = 'r' and has_table_privilege(oid, 'select')`;

const PER_SESSION = `current_setting('max_locks_per_transaction')::int`;
const SHORT_OF_LOCKS = `(select count(*) from taken) > ${LOCK_CAPACITY} / 2.0`;
const SHORT_OF_NOTIFICATIONS = `pg_notification_queue_usage() > ${MAX_NOTIFICATIONS}`;
/** Within the transaction that stays open, `age` stays the same. One that is newer than the snapshot would be beyond the limit. */
const TRANSACTIONS_SINCE = `(
  select coalesce(max(age), 0)::int from unnest(array[a.backend_xid, a.backend_xmin]) x(id),
    mod(pg_snapshot_xmax(pg_current_snapshot())::text::bigint - id::text::bigint, 4294967296) age where age < 2147483648)`;

/** Of those that wait for a row, the first has a lock on it, for which all others wait. For tables of tenants, the service waits less. */
const WAITED_MS = '1000 * extract(epoch from clock_timestamp() - l.waitstart)';

/**
 * Before PostgreSQL asks who owns it, `create rule` and `create trigger` lock a relation, also a catalog, and `alter database …
 * rename` the database: all others then wait behind whoever waits for the lock. These modes conflict with those of reads or writes.
 * The database 0 stands for PostgreSQL's queue of notifications: transactions with NOTIFY lock it one after another as they commit.
 */
const QUEUES_BEFORE_ALL = `not l.granted
  and l.mode in ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')
  and (l.locktype = 'relation' and (
      l.relation < 16384 or l.relation in ('rowpost_tenant.event'::regclass, 'rowpost_tenant.replica_lock'::regclass))
    or l.locktype = 'object' and l.classid = 'pg_catalog.pg_database'::regclass and l.objid <> 0)`;

// Otherwise session statistics stay the same for the whole transaction.
const STATE = `
  with taken as materialized (select granted, locktype, waitstart, mode, relation, classid, objid from pg_lock_status())
  select pg_stat_clear_snapshot(), ${SHORT_OF_LOCKS} or ${SHORT_OF_NOTIFICATIONS}
  or exists (select from taken l where not l.granted and ${WAITED_MS} > $1::float8)
  or exists (select from taken l where ${QUEUES_BEFORE_ALL})
  or exists (select from pg_stat_get_activity(null) a where ${TRANSACTIONS_SINCE} > $2) as "isHeld"`;

// Autovacuum has no user. Backups are made by a superuser, or a role that bypasses row-level security. Requests of shared connections
// have a timeout. A tenant may make its session wait for any other, by `create index concurrently` or an advisory lock: it is not for
// that one that the service waits. And the sessions of a tenant may hold many locks together, each of them few; those of the shared
// login belong to many tenants.
const END = `
  with recursive taken as materialized (select pid, granted, locktype, waitstart, mode, relation, classid, objid from pg_lock_status()),
  held as materialized (select pid, count(*)::int as locks from taken group by pid),
  session as materialized (
    select a.pid, r.rolname as role, a.usesysid is null or r.rolsuper or r.rolbypassrls as maintains,
      case when starts_with(r.rolname, $1) then r.oid end as tenant, a.xact_start, a.backend_xid, a.backend_xmin,
      coalesce(h.locks, 0) as locks
    from pg_stat_get_activity(null) a left join pg_catalog.pg_roles r on r.oid = a.usesysid left join held h on h.pid = a.pid
  ),
  waiting as materialized (
    select l.pid from taken l left join session a on a.pid = l.pid
    where not l.granted and ${WAITED_MS} > case when a.role = current_user then $3::float8
      when a.maintains then $4::float8 end
  ),
  waited_for(pid, tenant) as (
    select s.pid, s.tenant from waiting w, unnest(pg_blocking_pids(w.pid)) b(pid), session s where s.pid = b.pid
    union
    select s.pid, s.tenant from waited_for w, unnest(pg_blocking_pids(w.pid)) b(pid), session s
    where s.pid = b.pid and (w.tenant is null or s.tenant = w.tenant)
  ),
  holder as materialized (
    select *, sum(locks) over (partition by tenant, case when tenant is null then pid end) as together
    from session where tenant is not null or role = $2
  )
  select a.pid, a.role, a.locks from holder a
  where case when ${SHORT_OF_LOCKS} and a.locks > ${PER_SESSION} / 8 and a.together > ${PER_SESSION}
        and a.together >= least((select max(together) from holder), ${LOCK_CAPACITY} / 8)
      or ${SHORT_OF_NOTIFICATIONS} and a.xact_start < clock_timestamp() - interval '${MAX_LISTENING_SECONDS} seconds'
        and (a.xact_start = (select min(xact_start) from holder) or pg_notification_queue_usage() > ${2 * MAX_NOTIFICATIONS})
      or a.pid in (select pid from waited_for union select l.pid from taken l where ${QUEUES_BEFORE_ALL}) and a.tenant is not null
      or ${TRANSACTIONS_SINCE} > $5
    then pg_terminate_backend(a.pid) end`;
