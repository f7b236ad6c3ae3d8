import knexFactory, { type Knex } from 'knex';
import pg from 'pg';
import type { Logger } from '../../log.js';
import type { KeyRing } from '../../secrets.js';
import type { ConnectionBudget } from './budget.js';
import { createConnector } from './connector.js';
import { createLedger, PLANNER_OPTIONS, type Ledger } from './ledger.js';
import { limitMessages } from './messageLimit.js';
import { closeWhenReadOnly } from './readOnly.js';
import { breakOnCanceledReplicationWait } from './replicationWait.js';
import { statementTrace, traceClient } from './statementTrace.js';
import { TenantConnections } from './tenantConnections.js';
import { Transactions } from './transactions.js';

/** The schema in which BullMQ keeps its tables when PostgreSQL is the queue. */
export const QUEUE_SCHEMA = 'bullmq';

/** The control tables: outside a transaction, or the transaction of a request's mutations. */
export type ControlDb = Knex;
export type ControlTransaction = Knex.Transaction;

/** The ways to PostgreSQL. A process holds no other connections, but for one that ends a statement which takes too long. */
export interface Database {
  readonly tenants: TenantConnections;
  /** Compiled statements of tenants, over `tenants`. */
  readonly transactions: Transactions;
  /** The service's own connections, knex's too. No statement of a tenant runs on them. */
  readonly pool: pg.Pool;
  readonly knex: Knex;
  /** Outbox, batches and deliveries. */
  readonly ledger: Ledger;
  /** How many connections there are and may be, by what they are for; BullMQ's apart. */
  poolUse(): readonly PoolUse[];
  /** BullMQ's connections, whose statements name no schema. Ended by whoever opened it. */
  openQueuePool(): pg.Pool;
  /** A connection of its own for the relay, to listen or to watch; not open yet. */
  readonly createClient: () => pg.Client;
  /** Waits for queries in hand, then closes every connection. */
  close(): Promise<void>;
}

export interface PoolUse {
  readonly pool: 'tenants' | 'service' | 'ledger';
  readonly inUse: number;
  readonly max: number;
  readonly waiting: number;
}

export interface DatabaseOptions {
  /** As `DATABASE_URL`. */
  readonly url: string;
  readonly budget: ConnectionBudget;
  /** Derives the passwords of the tenants' logins. */
  readonly keyRing: KeyRing;
  readonly statementTimeoutMs: number;
  /** Longest transaction of compiled statements, all of them together; twice the longest statement when absent. */
  readonly requestTimeoutMs?: number;
  readonly lockTimeoutMs: number;
  /** Longest wait for a free connection. */
  readonly connectTimeoutMs: number;
  readonly applicationName: string;
  readonly log: Logger;
}

const IDLE_IN_TRANSACTION_TIMEOUT_MS = 30_000;

export function openDatabase(options: DatabaseOptions): Database {
  const { budget, log } = options;
  const connection = {
    application_name: options.applicationName,
    connectionTimeoutMillis: options.connectTimeoutMs,
    keepAlive: true,
    // JIT costs tens of milliseconds of planning for statements that run for one. Times leave in UTC.
    options: [
      '-c jit=off',
      '-c timezone=UTC',
      '-c datestyle=ISO',
      '-c intervalstyle=iso_8601',
      `-c statement_timeout=${options.statementTimeoutMs}`,
      `-c lock_timeout=${options.lockTimeoutMs}`,
      `-c idle_in_transaction_session_timeout=${IDLE_IN_TRANSACTION_TIMEOUT_MS}`,
    ].join(' '),
  };
  const connector = createConnector({
    url: options.url,
    config: connection,
    connectTimeoutMs: options.connectTimeoutMs,
    log,
  });
  const trace = statementTrace(log);
  const openPool = (max: number, config: pg.PoolConfig): pg.Pool => {
    const opened = new pg.Pool({
      ...connector.config,
      Client: connector.Client,
      max: Math.max(1, max),
      ...config,
    });
    // An idle connection that breaks (PostgreSQL restarted) is replaced by the pool at the next use.
    opened.on('error', (error) => log.warn({ err: error }, 'an idle database connection broke'));
    // One that breaks while it is in use, or just as it is handed out, rejects its user's statements; the error that it
    // also emits would end the process if nobody listened.
    opened.on('connect', (client) => {
      client.on('error', () => undefined);
      limitMessages(client);
      breakOnCanceledReplicationWait(client);
      if (trace) traceClient(client, trace);
    });
    closeWhenReadOnly(opened);
    return opened;
  };
  // pipeline: the statements of a transaction leave in one write and cost one round trip.
  const pool = openPool(budget.service, { pipeline: true });
  const ledgerPool = openPool(budget.ledger, {
    pipeline: true,
    options: `${connection.options} ${PLANNER_OPTIONS}`,
  });
  const knex = knexFactory({
    client: 'pg',
    connectionPool: pool,
    // With it, error messages hold the values of the statement: hashes, ciphertexts, templates.
    compileSqlOnError: false,
    log: {
      warn: (message: unknown) => log.warn({ knex: String(message) }, 'knex warns'),
      error: (message: unknown) => log.warn({ knex: String(message) }, 'knex reports an error'),
    },
  });
  const tenants = new TenantConnections({
    pool,
    connector,
    keyRing: options.keyRing,
    max: budget.tenants,
    acquireTimeoutMs: options.connectTimeoutMs,
    log,
  });
  const watch = connector.watch(() => pool.query('select'));
  return {
    tenants,
    transactions: new Transactions(tenants, {
      timeoutMs: options.requestTimeoutMs ?? 2 * options.statementTimeoutMs,
      createClientBeside: (other) => connector.createClientBeside(other),
      trace,
    }),
    pool,
    knex,
    ledger: createLedger(ledgerPool),
    poolUse: () => [
      { pool: 'tenants', max: budget.tenants, ...tenants.use },
      { pool: 'service', max: pool.options.max, ...useOf(pool) },
      { pool: 'ledger', max: ledgerPool.options.max, ...useOf(ledgerPool) },
    ],
    openQueuePool: () =>
      openPool(budget.queue, { options: `${connection.options} -c search_path=${QUEUE_SCHEMA}` }),
    createClient: () => connector.createClient(),
    async close() {
      await watch.stop();
      await tenants.close();
      await knex.destroy();
      await Promise.all([pool.end(), ledgerPool.end()]);
    },
  };
}

function useOf({ totalCount, idleCount, waitingCount }: pg.Pool): Omit<PoolUse, 'pool' | 'max'> {
  return { inUse: totalCount - idleCount, waiting: waitingCount };
}
