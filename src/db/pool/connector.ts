import pg from 'pg';
import { parseDatabaseUrl } from '../../config/databaseUrl.js';
import type { Logger } from '../../foundation/observability/log.js';
import { withTimeout } from '../../foundation/withTimeout.js';
import { pollEvery } from '../../foundation/lifecycle/pollEvery.js';
import type { Stoppable } from '../../foundation/lifecycle/shutdown.js';
import { severDeadConnections } from '../failover/deadConnections.js';
import {
  backendOf,
  breakConnection,
  onParameter,
  readUrl,
  sendCancelRequest,
  setHost,
} from '../wire/index.js';
import { NoPrimaryError, Primary, type ServerState, type Severable } from '../failover/primary.js';

export interface ConnectorOptions {
  /** As `DATABASE_URL`. */
  readonly url: string;
  /** Instead of the URL's. */
  readonly password?: (() => Promise<string>) | undefined;
  /** Applied to every connection in addition to the URL. */
  readonly config: pg.ClientConfig;
  readonly poolTimeoutMs: number;
  readonly log: Logger;
  /** Whether the server may be a standby; then there is only one host. */
  readonly isReplica?: boolean;
}

/** Creates all connections to PostgreSQL, each to the server that accepts writes. */
export interface Connector {
  /** For pools. */
  readonly Client: typeof pg.Client;
  /** What pools pass to `Client`. */
  readonly config: pg.ClientConfig;
  /** Creates a connection without opening it. */
  createClient(config?: pg.ClientConfig): pg.Client;
  /** Creates one to the same server as `other`, whichever server accepts writes by now. */
  createClientBeside(other: pg.ClientBase): pg.Client;
  /** Sends a cancel request for what `other` runs, in a form that works through a pooler. It is not acknowledged. */
  requestCancel(other: pg.ClientBase): Promise<void>;
  /** Breaks every connection; requests in flight on them get no response. */
  severAll(): void;
  /** With several servers, checks every second that the current one responds, and switches to another that accepts writes. */
  watch(isAlive: () => Promise<unknown>): Stoppable;
  /** Breaks connections whose response was lost. Not for those of a pooler, which responds for sessions of others. */
  watchResponses(): Stoppable;
}

/**
 * How long pools keep an idle connection. The first statements on a new one take some 30 ms longer, while it connects and
 * its session loads catalogs and plans. Cloud firewalls drop connections that are idle for four minutes or more.
 */
export const IDLE_TIMEOUT_MS = 3 * 60_000;

const ASK_TIMEOUT_MS = 2_000;
const WATCH_MS = 1_000;

export function createConnector(options: ConnectorOptions): Connector {
  const { url, password, config, poolTimeoutMs, log, isReplica = false } = options;
  const { hosts, url: firstUrl, requiresWritableSessions } = parseDatabaseUrl(url);
  const shared: pg.ClientConfig = { ...config, ...readUrl(firstUrl), ...(password ? { password } : {}) };
  const primary = new Primary(hosts, {
    maxWaitMs: poolTimeoutMs,
    log,
    ask: (host) =>
      queryServer({ ...shared, ...host, connectionTimeoutMillis: ASK_TIMEOUT_MS }, requiresWritableSessions),
  });
  const isChoice = primary.isOneOfMany;
  const open = new Set<PrimaryClient>();

  class PrimaryClient extends pg.Client implements Severable {
    #isStandby = false;

    constructor(given?: pg.ClientConfig) {
      super(given);
      // Registered right away: a session may be terminated in the packet that opens it, before its user listens.
      this.on('error', () => undefined);
      onParameter(this, (name, value) => {
        if (name === 'in_hot_standby') this.#isStandby = value === 'on';
      });
    }

    override connect(): Promise<this>;
    override connect(callback: (error: Error) => void): void;
    override connect(callback?: (error: Error) => void): Promise<this> | void {
      const connecting = this.#connect();
      if (!callback) return connecting;
      connecting.then(() => (callback as () => void)(), callback);
    }

    sever(): void {
      breakConnection(this);
    }

    async #connect(): Promise<this> {
      const host = await primary.locate();
      // A socket in the URL's parameters belongs to the only host.
      if (isChoice) setHost(this, host);
      try {
        await super.connect();
      } catch (error) {
        primary.doubt(host);
        throw error;
      }
      if (this.#isStandby && !isReplica) {
        primary.doubt(host);
        await this.end();
        throw new NoPrimaryError('the server is a standby: it accepts no writes');
      }
      primary.opened(this, host);
      open.add(this);
      this.once('end', () => {
        primary.closed(this);
        open.delete(this);
      });
      // The connection broke; we did not close it.
      this.on('error', () => primary.doubt(host));
      return this;
    }
  }

  const createClient = (more?: pg.ClientConfig): pg.Client => new PrimaryClient({ ...shared, ...more });
  return {
    Client: PrimaryClient,
    config: shared,
    createClient,
    createClientBeside(other) {
      const { host, port } = backendOf(other);
      return new pg.Client({ ...shared, host, port });
    },
    async requestCancel(other) {
      const { host, port } = backendOf(other);
      const canceler = new pg.Client({ ...shared, host, port });
      canceler.on('error', () => undefined);
      await sendCancelRequest(canceler, other);
    },
    severAll: () => primary.severAll(),
    watchResponses: () => severDeadConnections(open, createClient),
    watch: (isAlive) => (isChoice ? watchPrimary(primary, isAlive) : { stop: () => Promise.resolve() }),
  };
}

/** Needed because a server that is cut off breaks no connection; it only stops responding. */
function watchPrimary(primary: Primary, isAlive: () => Promise<unknown>): Stoppable {
  return pollEvery(WATCH_MS, async () => {
    const alive = isAlive().then(
      () => true,
      () => false,
    );
    if (!(await withTimeout(alive, ASK_TIMEOUT_MS, () => false))) await primary.check();
  });
}

async function queryServer(config: pg.ClientConfig, requiresWritableSessions: boolean): Promise<ServerState> {
  const client = new pg.Client(config);
  client.on('error', () => undefined);
  try {
    await client.connect();
    const { rows } = await client.query<{ timeline: string | null; isReadOnly: boolean }>(STATE);
    const [{ timeline, isReadOnly } = { timeline: null, isReadOnly: true }] = rows;
    return {
      acceptsWrites: timeline !== null && !(requiresWritableSessions && isReadOnly),
      timeline: timeline ?? '',
    };
  } finally {
    client.end().catch(() => undefined);
  }
}

const STATE = `
  select case when not pg_is_in_recovery() then substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8) end as timeline,
    current_setting('default_transaction_read_only')::bool as "isReadOnly"`;
