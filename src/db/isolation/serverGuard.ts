import type pg from 'pg';
import type { RoleNames } from './roleNames.js';

/** A session that was ended. */
export interface EndedSession {
  readonly role: string;
  readonly pid: number;
  readonly locks: number;
}

/** Share of PostgreSQL's notification queue that one session may hold up. */
const MAX_NOTIFICATIONS = 0.25;
/** Listeners read notifications immediately, except in a transaction. */
const MAX_LISTENING_SECONDS = 5;

/**
 * PostgreSQL has one lock table and one notification queue for the whole server, without quotas: one tenant's
 * `pg_advisory_lock` in a loop, or LISTEN in a transaction that never ends, blocks every write. When half of the locks or a
 * quarter of the queue is in use, this terminates tenants' sessions that hold more than a session's share.
 */
export class ServerGuard {
  #client: pg.Client | undefined;

  constructor(
    private readonly createClient: () => pg.Client,
    private readonly names: () => Promise<RoleNames>,
  ) {}

  /** Throws what pg throws; the next call connects again. */
  async endHoarders(): Promise<readonly EndedSession[]> {
    try {
      const { tenantPrefix, shared } = await this.names();
      this.#client ??= await this.#connect([tenantPrefix, shared]);
      const { rows } = await this.#client.query<{ isFull: boolean }>(STATE);
      if (rows[0]?.isFull !== true) return [];
      const ended = await this.#client.query<EndedSession>(END, [tenantPrefix, shared]);
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
  async #connect(values: readonly string[]): Promise<pg.Client> {
    const client = this.createClient();
    client.on('error', () => undefined);
    await client.connect();
    await client.query('begin read only; set local idle_in_transaction_session_timeout = 0');
    await client.query('select from pg_catalog.pg_auth_members limit 1');
    await client.query(END, [...values]);
    return client;
  }
}

const PER_SESSION = `current_setting('max_locks_per_transaction')::int`;
const SHORT_OF_LOCKS = `(select count(*) from pg_lock_status()) > ${PER_SESSION} / 2.0 *
  (current_setting('max_connections')::int + current_setting('max_prepared_transactions')::int)`;
const SHORT_OF_NOTIFICATIONS = `pg_notification_queue_usage() > ${MAX_NOTIFICATIONS}`;

// Otherwise session statistics stay the same for the whole transaction.
const STATE = `select pg_stat_clear_snapshot(), ${SHORT_OF_LOCKS} or ${SHORT_OF_NOTIFICATIONS} as "isFull"`;

const END = `
  with held as materialized (select pid, count(*)::int as locks from pg_lock_status() group by pid)
  select a.pid, r.rolname as role, coalesce(h.locks, 0) as locks
  from pg_stat_get_activity(null) a join pg_catalog.pg_roles r on r.oid = a.usesysid left join held h on h.pid = a.pid
  where case when starts_with(r.rolname, $1) or r.rolname = $2 then
    case when ${SHORT_OF_LOCKS} and h.locks > ${PER_SESSION}
        or ${SHORT_OF_NOTIFICATIONS} and a.xact_start < clock_timestamp() - interval '${MAX_LISTENING_SECONDS} seconds'
      then pg_terminate_backend(a.pid) end end`;
