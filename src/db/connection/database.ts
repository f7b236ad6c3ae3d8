import knexFactory, { type Knex } from 'knex';
import pg from 'pg';
import type { Logger } from '../../log.js';
import { stopAll } from '../../shutdown.js';
import type { KeyRing } from '../../secrets.js';
import type { ConnectionBudget } from './connectionBudget.js';
import { createConnector, type Connector } from './connector.js';
import { createLedger, PLANNER_OPTIONS, type Ledger } from './ledger.js';
import { limitMessages } from './messageLimit.js';
import { passwordFromCommand } from './passwordCommand.js';
import { closeWhenReadOnly } from './readOnly.js';
import { Replica } from './replica.js';
import { Replicas } from './replicas.js';
import { breakOnCanceledReplicationWait } from './replicationWait.js';
import { dropStatementNames } from './preparedStatements.js';
import { asStartupOptions, sessionSettings, type SessionSettings } from './sessionSettings.js';
import { statementTrace, traceClient } from './statementTrace.js';
import { TenantConnections } from './tenantConnections.js';
import { Transactions } from './transactions.js';

/** The schema in which BullMQ keeps its tables when PostgreSQL is the queue. */
export const QUEUE_SCHEMA = 'bullmq';

/** Access to the control tables, outside a transaction or in that of a request's mutations. */
export type ControlDb = Knex;
export type ControlTransaction = Knex.Transaction;

/** All access to PostgreSQL. A process opens no other connections, except to cancel a statement that takes too long. */
export interface Database {
  readonly tenants: TenantConnections;
  /** Runs tenants' compiled statements, on connections of `tenants`. */
  readonly transactions: Transactions;
  /** Standbys that serve reads; none by default. */
  readonly replicas: Replicas;
  /** The service's own connections, also used by knex. No tenant's statement runs on them. */
  readonly pool: pg.Pool;
  readonly knex: Knex;
  /** Outbox, batches and deliveries. */
  readonly ledger: Ledger;
  /** The ledger's connections, which bypass a pooler. */
  readonly ledgerPool: pg.Pool;
  /** Current and maximum connections by purpose, except BullMQ's. */
  poolUse(): readonly PoolUse[];
  /** Opens BullMQ's connections, whose statements name no schema. The caller ends the pool. */
  openQueuePool(): pg.Pool;
  /** Creates a connection for the relay, to listen or to watch; not opened yet. */
  readonly createClient: () => pg.Client;
  /** Whether `DATABASE_URL` points to a connection pooler. */
  readonly isPooled: boolean;
  /** Settings of every session. */
  readonly settings: SessionSettings;
  /** Waits for queries in flight, then closes all connections. */
  close(): Promise<void>;
}

export interface PoolUse {
  readonly pool: 'tenants' | 'service' | 'ledger' | 'replicas';
  readonly inUse: number;
  readonly max: number;
  readonly waiting: number;
}

export interface DatabaseOptions {
  /** As `DATABASE_URL`. */
  readonly url: string;
  /** As `DATABASE_DIRECT_URL`: given if `url` points to a connection pooler. */
  readonly directUrl?: string | undefined;
  /** As `DATABASE_REPLICA_URLS`. */
  readonly replicaUrls?: readonly string[];
  /** A replica that lags more serves no reads. */
  readonly maxReplicaLagMs?: number;
  /** As `PREPARED_STATEMENTS`; on by default. */
  readonly preparedStatements?: boolean;
  readonly budget: ConnectionBudget;
  /** Prints the password of the URL's role. */
  readonly passwordCommand?: string | undefined;
  /** Derives the passwords of the tenants' logins. */
  readonly keyRing: KeyRing;
  readonly statementTimeoutMs: number;
  /** Maximum duration of a transaction of compiled statements; by default twice the maximum of a statement. */
  readonly requestTimeoutMs?: number;
  readonly lockTimeoutMs: number;
  /** Maximum wait for a free connection. */
  readonly connectTimeoutMs: number;
  readonly applicationName: string;
  readonly log: Logger;
}

const DEFAULT_MAX_REPLICA_LAG_MS = 10_000;
/** The service's own connections per replica, for heartbeats and event checks. */
const SERVICE_CONNECTIONS_TO_REPLICA = 2;

export function openDatabase(options: DatabaseOptions): Database {
  const { budget, log, directUrl, preparedStatements = true } = options;
  const settings = sessionSettings(options);
  const base = {
    application_name: options.applicationName,
    connectionTimeoutMillis: options.connectTimeoutMs,
    keepAlive: true,
  };
  const password =
    options.passwordCommand === undefined ? undefined : passwordFromCommand(options.passwordCommand);
  const connectTo = (url: string, config: pg.ClientConfig): Connector =>
    createConnector({ url, password, config, connectTimeoutMs: options.connectTimeoutMs, log });
  const startupOptions = asStartupOptions(settings);
  const direct = connectTo(directUrl ?? options.url, { ...base, options: startupOptions });
  // A pooler rejects the startup parameter `options`; the settings are defaults of the roles instead.
  const pooled = directUrl === undefined ? direct : connectTo(options.url, base);
  const trace = statementTrace(log);
  const watched = (opened: pg.Pool): pg.Pool => {
    // An idle connection that breaks (PostgreSQL restarted) is replaced by the pool at the next use.
    opened.on('error', (error) => log.warn({ err: error }, 'an idle database connection broke'));
    // One that breaks while in use rejects its user's statements. The error it also emits would end the process if nobody
    // listened.
    opened.on('connect', (client) => client.on('error', () => undefined));
    return opened;
  };
  const openPool = (connector: Connector, max: number, config: pg.PoolConfig): pg.Pool => {
    const opened = watched(
      new pg.Pool({ ...connector.config, Client: connector.Client, max: Math.max(1, max), ...config }),
    );
    opened.on('connect', (client) => {
      limitMessages(client);
      breakOnCanceledReplicationWait(client);
      if (connector === pooled && !preparedStatements) dropStatementNames(client);
      if (trace) traceClient(client, trace);
    });
    closeWhenReadOnly(opened);
    return opened;
  };
  // pipeline: the statements of a transaction are sent in one write and cost one round trip.
  const pool = openPool(pooled, budget.service, { pipeline: true });
  const ledgerPool = openPool(direct, budget.ledger, {
    pipeline: true,
    options: `${startupOptions} ${PLANNER_OPTIONS}`,
  });
  const knex = knexFactory({
    client: 'pg',
    connectionPool: pool,
    // Otherwise error messages contain the statement's values: hashes, ciphertexts, templates.
    compileSqlOnError: false,
    log: {
      warn(message: unknown) {
        // Also thrown, or retried; the message is the migration's entire text.
        const isFailedMigration = /^migration (file|failed)/.test(String(message));
        log[isFailedMigration ? 'debug' : 'warn']({ knex: String(message) }, 'knex warns');
      },
      error: (message: unknown) => log.warn({ knex: String(message) }, 'knex reports an error'),
    },
  });
  const tenants = new TenantConnections({
    pool,
    connector: pooled,
    direct,
    roleDefaults: directUrl === undefined ? undefined : settings,
    keyRing: options.keyRing,
    max: budget.tenants,
    acquireTimeoutMs: options.connectTimeoutMs,
    log,
  });
  const timeoutMs = options.requestTimeoutMs ?? 2 * options.statementTimeoutMs;
  const transactions = new Transactions(tenants, {
    timeoutMs,
    canceler: { ...pooled, isPooled: directUrl !== undefined },
    preparedStatements,
    trace,
  });
  const openReplica = (url: string): Replica => {
    const config = { ...base, options: startupOptions };
    const connector = createConnector({ ...options, url, password, config, isReplica: true });
    const replicaPool = watched(
      new pg.Pool({
        ...connector.config,
        Client: connector.Client,
        max: SERVICE_CONNECTIONS_TO_REPLICA,
        pipeline: true,
      }),
    );
    const connections = new TenantConnections({
      pool: replicaPool,
      primaryPool: pool,
      connector,
      direct: connector,
      roleDefaults: undefined,
      keyRing: options.keyRing,
      max: budget.tenants,
      acquireTimeoutMs: options.connectTimeoutMs,
      log,
    });
    return new Replica({
      name: `${connector.config.host ?? ''}:${connector.config.port ?? ''}`,
      connector,
      pool: replicaPool,
      tenants: connections,
      transactions: new Transactions(connections, {
        timeoutMs,
        canceler: { ...connector, isPooled: false },
        preparedStatements: true,
        trace,
      }),
      primary: transactions,
      log,
    });
  };
  const replicas = new Replicas((options.replicaUrls ?? []).map(openReplica), {
    pool,
    maxLagMs: options.maxReplicaLagMs ?? DEFAULT_MAX_REPLICA_LAG_MS,
    log,
  });
  const watches = [pooled.watch(() => pool.query('select'))];
  if (direct !== pooled) watches.push(direct.watch(() => ledgerPool.query('select')));
  return {
    tenants,
    transactions,
    replicas,
    pool,
    knex,
    ledger: createLedger(ledgerPool),
    ledgerPool,
    poolUse: (): readonly PoolUse[] => [
      { pool: 'tenants', max: budget.tenants, ...tenants.use },
      { pool: 'service', max: pool.options.max, ...useOf(pool) },
      { pool: 'ledger', max: ledgerPool.options.max, ...useOf(ledgerPool) },
      ...[replicas.use()].flatMap((use) => (use ? [{ pool: 'replicas' as const, ...use }] : [])),
    ],
    openQueuePool: () =>
      openPool(direct, budget.queue, { options: `${startupOptions} -c search_path=${QUEUE_SCHEMA}` }),
    createClient: () => direct.createClient(),
    isPooled: directUrl !== undefined,
    settings,
    async close() {
      await stopAll(watches);
      await replicas.close();
      await tenants.close();
      await knex.destroy();
      await Promise.all([pool.end(), ledgerPool.end()]);
    },
  };
}

function useOf({ totalCount, idleCount, waitingCount, options }: pg.Pool): Omit<PoolUse, 'pool' | 'max'> {
  // pg counts every request as waiting until the next tick, even if a connection is idle or can be opened.
  const free = idleCount + options.max - totalCount;
  return { inUse: totalCount - idleCount, waiting: Math.max(0, waitingCount - free) };
}
