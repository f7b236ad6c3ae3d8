import knexFactory, { type Knex } from 'knex';
import pg from 'pg';
import type { Logger } from '../log.js';
import type { KeyRing } from '../secrets.js';
import { limitMessages } from './connection/messageLimit.js';
import { TenantConnections } from './connection/tenantConnections.js';
import { Transactions } from './tenantTransaction.js';

/** The control tables: outside a transaction, or the transaction of a request's mutations. */
export type ControlDb = Knex;

/** The ways to PostgreSQL: compiled statements go through `transactions`, the service's own through the pool and knex. */
export interface Database {
  /** The service's own connections. No statement of a tenant runs on them. */
  readonly pool: pg.Pool;
  readonly tenants: TenantConnections;
  /** Over `tenants`. There is one: it names the statements that the connections keep. */
  readonly transactions: Transactions;
  readonly knex: Knex;
  /** Waits for queries in hand, then closes every connection. */
  close(): Promise<void>;
}

export interface DatabaseOptions {
  readonly url: string;
  /** Most connections, tenants' and the service's together; knex may hold a few more. */
  readonly poolSize: number;
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

/** More than the control requests of one tenant hold at once, so that sign-ins of the others need not wait for them. */
const KNEX_POOL_SIZE = 8;
const MAX_SERVICE_CONNECTIONS = 4;
/** Some work holds one while it needs another. */
const MIN_SERVICE_CONNECTIONS = 2;
const IDLE_IN_TRANSACTION_TIMEOUT_MS = 30_000;

function serviceShare(poolSize: number): number {
  return Math.max(MIN_SERVICE_CONNECTIONS, Math.min(MAX_SERVICE_CONNECTIONS, Math.ceil(poolSize / 4)));
}

/** Connections of a pool that tenants' statements run on. */
export function tenantShare(poolSize: number): number {
  return Math.max(1, poolSize - serviceShare(poolSize));
}

/** For the pool of knex. */
function limitCreated(client: pg.Client, done: (error: undefined, client: pg.Client) => void): void {
  limitMessages(client);
  done(undefined, client);
}

export function openDatabase(options: DatabaseOptions): Database {
  const connection = {
    connectionString: options.url,
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
  // pipeline: the statements of a transaction leave in one write and cost one round trip.
  const pool = new pg.Pool({ ...connection, max: serviceShare(options.poolSize), pipeline: true });
  // An idle connection that breaks (PostgreSQL restarted) is replaced by the pool at the next use.
  pool.on('error', (error) => options.log.warn({ err: error }, 'an idle database connection broke'));
  // One that breaks just as it is handed out, with PostgreSQL's last word behind its first in one packet, says so when
  // neither the pool nor its taker listens yet: that would end the process. Its taker's statements fail anyway.
  pool.on('connect', (client) => {
    client.on('error', () => undefined);
    limitMessages(client);
  });
  const knex = knexFactory({
    client: 'pg',
    connection,
    pool: { min: 0, max: KNEX_POOL_SIZE, afterCreate: limitCreated },
    // With it, error messages hold the values of the statement: hashes, ciphertexts, templates.
    compileSqlOnError: false,
    log: {
      warn: (message: unknown) => options.log.warn({ knex: String(message) }, 'knex warns'),
      error: (message: unknown) => options.log.warn({ knex: String(message) }, 'knex reports an error'),
    },
  });
  const tenants = new TenantConnections({
    pool,
    connection: { ...connection, pipeline: true },
    keyRing: options.keyRing,
    max: tenantShare(options.poolSize),
    acquireTimeoutMs: options.connectTimeoutMs,
    log: options.log,
  });
  return {
    pool,
    tenants,
    transactions: new Transactions(tenants, {
      timeoutMs: options.requestTimeoutMs ?? 2 * options.statementTimeoutMs,
      connection,
    }),
    knex,
    async close() {
      await tenants.close();
      await Promise.all([pool.end(), knex.destroy()]);
    },
  };
}
