import type pg from 'pg';
import type { Logger } from '../../foundation/observability/log.js';
import { stopAll } from '../../foundation/lifecycle/shutdown.js';
import type { KeyRing } from '../../config/secrets.js';
import type { ConnectionBudget } from './connectionBudget.js';
import { createConnector, type Connector } from './connector.js';
import { createLedger, PLANNER_OPTIONS, type Ledger } from './ledgerPool.js';
import { passwordFromCommand } from './passwordCommand.js';
import { hideChannels } from './hideChannels.js';
import { openReplica } from '../failover/openReplica.js';
import type { Replica } from '../failover/replica.js';
import { Replicas } from '../failover/replicas.js';
import { asStartupOptions, sessionSettings, type SessionSettings } from './sessionSettings.js';
import { openServicePool } from './servicePool.js';
import { statementTrace } from './statementTrace.js';
import { TenantConnections } from '../isolation/tenantConnections.js';
import { Transactions } from './transactions.js';

/** The schema in which BullMQ keeps its tables when PostgreSQL is the queue. */
export const QUEUE_SCHEMA = 'bullmq';

/** All access to PostgreSQL. A process opens no other connections, except to cancel a statement that takes too long. */
export interface Database {
  readonly tenants: TenantConnections;
  /** Runs tenants' compiled statements, on connections of `tenants`. */
  readonly transactions: Transactions;
  /** Standbys that serve reads; none by default. */
  readonly replicas: Replicas;
  /** The service's own connections. No tenant's statement runs on them. */
  readonly pool: pg.Pool;
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
  readonly poolTimeoutMs: number;
  readonly applicationName: string;
  readonly log: Logger;
}

const DEFAULT_MAX_REPLICA_LAG_MS = 10_000;

export function openDatabase(options: DatabaseOptions): Database {
  const { budget, log, directUrl, preparedStatements = true, keyRing, poolTimeoutMs } = options;
  const settings = sessionSettings(options);
  const startupOptions = asStartupOptions(settings);
  const isPooled = directUrl !== undefined;
  const password =
    options.passwordCommand === undefined ? undefined : passwordFromCommand(options.passwordCommand);
  const base = {
    application_name: options.applicationName,
    connectionTimeoutMillis: poolTimeoutMs,
    keepAlive: true,
  };
  const connectTo = (url: string, config: pg.ClientConfig): Connector =>
    createConnector({ url, password, config, poolTimeoutMs, log });
  const direct = connectTo(directUrl ?? options.url, { ...base, options: startupOptions });
  // A pooler rejects the startup parameter `options`; the settings are defaults of the roles instead.
  const pooled = isPooled ? connectTo(options.url, base) : direct;
  const trace = statementTrace(log);
  const openPool = (connector: Connector, max: number, config: pg.PoolConfig): pg.Pool =>
    openServicePool(connector, {
      config: { max: Math.max(1, max), ...config },
      namesStatements: preparedStatements || connector !== pooled,
      trace,
      log,
    });
  // pipeline: the statements of a transaction are sent in one write and cost one round trip.
  const pool = openPool(pooled, budget.service, { pipeline: true });
  const ledgerPool = openPool(direct, budget.ledger, {
    pipeline: true,
    options: `${startupOptions} ${PLANNER_OPTIONS}`,
  });
  const ofTenants = { keyRing, max: budget.tenants, acquireTimeoutMs: poolTimeoutMs, log };
  const tenants = new TenantConnections({
    ...ofTenants,
    pool,
    connector: pooled,
    direct,
    settings,
    isPooled,
  });
  const timeoutMs = options.requestTimeoutMs ?? 2 * options.statementTimeoutMs;
  const transactions = new Transactions(tenants, {
    timeoutMs,
    canceler: { ...pooled, isPooled },
    preparedStatements,
    trace,
  });
  const openReplicaAt = (url: string): Replica =>
    openReplica({
      connector: createConnector({
        url,
        password,
        config: { ...base, options: startupOptions },
        poolTimeoutMs,
        log,
        isReplica: true,
      }),
      tenants: { ...ofTenants, settings, primary: tenants },
      transactions: { timeoutMs, trace },
      primary: transactions,
    });
  const replicas = new Replicas((options.replicaUrls ?? []).map(openReplicaAt), {
    pool,
    maxLagMs: options.maxReplicaLagMs ?? DEFAULT_MAX_REPLICA_LAG_MS,
    log,
  });
  const watches = [pooled.watch(() => pool.query('select')), direct.watchResponses()];
  if (isPooled) watches.push(direct.watch(() => ledgerPool.query('select')));
  return {
    tenants,
    transactions,
    replicas,
    pool,
    ledger: createLedger(ledgerPool),
    ledgerPool,
    poolUse: (): readonly PoolUse[] => [
      { pool: 'tenants', max: budget.tenants, ...tenants.use },
      { pool: 'service', max: pool.options.max, ...useOf(pool) },
      { pool: 'ledger', max: ledgerPool.options.max, ...useOf(ledgerPool) },
      ...[replicas.use()].flatMap((use) => (use ? [{ pool: 'replicas' as const, ...use }] : [])),
    ],
    // Commits asynchronously: a crash that loses jobs is one of the losses that the reconciler makes good.
    openQueuePool: () =>
      openPool(direct, budget.queue, {
        options: `${startupOptions} -c search_path=${QUEUE_SCHEMA},pg_temp -c synchronous_commit=off`,
      }).on('connect', hideChannels),
    createClient: () => direct.createClient(),
    isPooled,
    settings,
    async close() {
      await stopAll(watches);
      await replicas.close();
      await tenants.close();
      await Promise.all([pool.end(), ledgerPool.end()]);
    },
  };
}

function useOf({ totalCount, idleCount, waitingCount, options }: pg.Pool): Omit<PoolUse, 'pool' | 'max'> {
  // pg counts every request as waiting until the next turn of the event loop, even if a connection is idle or can be opened.
  const free = idleCount + options.max - totalCount;
  return { inUse: totalCount - idleCount, waiting: Math.max(0, waitingCount - free) };
}
