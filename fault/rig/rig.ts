import { mkdtemp, readFile, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { openDatabase, type Database } from '../../src/db/pool/database.js';
import { makePartitions } from '../../src/db/outbox/partitions.js';
import { startEmbeddedPostgres } from '../../src/embedded/postgres.js';
import { KeyRing } from '../../src/config/secrets.js';
import { startRedis, type RedisServer } from '../../test/support/redisServer.js';
import {
  startRedisCluster,
  startRedisWithSentinels,
  type RedisTopology,
} from '../../test/support/redisTopologies.js';
import { startReplicatedPostgres, type ReplicatedPostgres } from '../../test/support/replicatedPostgres.js';
import { startPooledPostgres, throughPgBouncer, type PooledPostgres } from '../../test/support/pgbouncer.js';
import { runRowpost } from '../../test/support/rowpostProcess.js';
import { TEST_BUDGET, testKeyRing, testLog } from '../../test/support/testConfig.js';
import type { Backend } from '../markers.js';
import { startPatroni, type PatroniCluster } from '../patroni/cluster.js';
import { startProvider, type Carrier } from '../carrier/client.js';
import { Application } from './application.js';
import { CallBook } from './calls.js';
import type { Canary } from './canaries.js';
import { Fleet, type Strength } from './fleet.js';
import { LedgerReader } from './ledger.js';
import { Load, PATIENCE_MS } from './load.js';
import type { Services } from './memberProcess.js';
import { openQueueStore, type QueueStore } from './queueStore.js';
import { createShop, openShop, secretsOf, type OpenShop, type Shop, type Speciality } from './shop.js';
import type { ShopCarrier } from './shopCarrier.js';
import type { Span, Strike } from './strikes.js';
import { createTimeMachine, type TimeMachine } from './timeMachine.js';

/** Settings that the faults rely on. All others have their defaults. */
export const LEASE_MS = 6_000;
export const GRACE_MS = 3_000;

const DAYS_PAST = 3;
const DAY_MS = 24 * 3600 * 1000;

export type RedisKind = 'server' | 'sentinel' | 'cluster';
/** How processes find Patroni's leader: HAProxy in front, or all servers in `DATABASE_URL`. */
export const ROUTES = ['haproxy', 'hosts'] as const;
export type Route = (typeof ROUTES)[number];
/** A key of the queue under the default QUEUE_PREFIX. */
const QUEUE_KEY = '{rowpost}:deliveries:wait';

/** A whole installation under load, and the record of what was done to it. */
export interface Rig {
  readonly backend: Backend;
  readonly fleet: Fleet;
  readonly load: Load;
  readonly carrier: Carrier;
  readonly ledger: LedgerReader;
  /** Which process has called the carrier for which delivery. */
  readonly calls: CallBook;
  readonly queueStore: QueueStore;
  readonly shops: readonly OpenShop[];
  readonly canaries: readonly Canary[];
  readonly strikes: Strike[];
  /** Times in which a dependency failed. */
  readonly spans: Span[];
  /** Problems noticed during the run. */
  readonly complaints: string[];
  /** Names of secrets that processes have printed. */
  readonly printedSecrets: Set<string>;
  readonly services: Services;
  readonly timeMachine: TimeMachine;
  /** Undefined without a standby. */
  readonly replicated: ReplicatedPostgres | undefined;
  /** Undefined without a pooler. */
  readonly pooled: PooledPostgres | undefined;
  /** Undefined without Patroni. */
  readonly patroni: PatroniCluster | undefined;
  /** Undefined with a queue on one server. */
  readonly redisTopology: RedisTopology | undefined;
  /** Restarts PostgreSQL as an operator would. */
  restartPostgres(): Promise<void>;
  /** Kills Redis and starts it again, empty. */
  restartRedis(): Promise<void>;
  stop(): Promise<void>;
}

export interface RigOptions {
  readonly backend: Backend;
  /** Shops that get the load's orders, round-robin. */
  readonly shops: number;
  /** What the shops send with, round-robin; SendGrid by default. */
  readonly carriers?: readonly ShopCarrier[];
  /** Shops that get only the orders that are placed for them. */
  readonly special?: readonly Speciality[];
  readonly strength: Strength;
  /** Every second shop captures its orders, half of which are written by plain SQL. */
  readonly sqlWriters?: true;
  /** PostgreSQL settings, `name=value`, overriding those of all rigs. */
  readonly postgresSettings?: readonly string[];
  /** A primary with a synchronous standby. */
  readonly replicated?: true;
  /** Three servers under Patroni, which processes find like this. */
  readonly route?: Route;
  /** PgBouncer in transaction mode between processes and PostgreSQL. */
  readonly pooled?: boolean | undefined;
  /** What Redis is, with the queue in it: one server by default. */
  readonly redis?: RedisKind;
  /** Over those of all rigs. */
  readonly env?: Readonly<Record<string, string>>;
}

export async function createRig(options: RigOptions): Promise<Rig> {
  const { backend, strength } = options;
  const folder = await mkdtemp(path.join(os.tmpdir(), 'rowpost-fault-'));
  const startPostgres = () =>
    startEmbeddedPostgres({
      dataDir: folder,
      settings: options.postgresSettings ?? [],
      say: (line) => process.stderr.write(`${line}\n`),
    });
  const replicated = options.replicated ? await startReplicatedPostgres() : undefined;
  const pooled = options.pooled === true ? await startPooledPostgres() : undefined;
  const patroni = options.route === undefined ? undefined : await startPatroni();
  let postgres = replicated || pooled || patroni ? undefined : await startPostgres();
  const { redis: redisKind = 'server' } = options;
  const redisTopology =
    backend === 'postgres' || redisKind === 'server'
      ? undefined
      : await (redisKind === 'sentinel' ? startRedisWithSentinels() : startRedisCluster(QUEUE_KEY));
  let redis: RedisServer | undefined = backend === 'redis' && !redisTopology ? await startRedis() : undefined;
  const carrier = await startProvider();
  const databaseUrl = replicated?.url() ?? pooled?.url ?? patroni?.hostsUrl ?? postgres?.url ?? '';
  const pooledUrl = pooled && throughPgBouncer(databaseUrl, pooled);
  const services = {
    databaseUrl: options.route === 'haproxy' && patroni ? patroni.proxyUrl : databaseUrl,
    pooledUrl,
    redisUrl: redisTopology?.url ?? redis?.url,
    providerUrl: carrier.url,
    smtpPort: carrier.smtpPort,
  };
  const secretKeys = KeyRing.generateEntry('canary');
  const env = {
    SECRET_KEYS: secretKeys,
    PXADMIN_PASSWORD: 'canary-pxadmin-password',
    MAIL_TRANSPORT: 'sendgrid',
    LOG_LEVEL: 'info',
    LEASE_MS: String(LEASE_MS),
    SHUTDOWN_GRACE_MS: String(GRACE_MS),
    // What a carrier or a query refuses for the moment is retried soon: the default's backoff, which doubles each time, would
    // dominate recovery times, and some emails would not be sent by the end.
    BACKOFF_CAP_MS: '3000',
    PG_POOL: '10',
    RENDER_PROCESSES: '1',
    WORKER_CONCURRENCY: '16',
    SIGN_INS_PER_ADDRESS: '0',
    ...options.env,
  };
  await release({
    ...env,
    DATABASE_URL: pooledUrl ?? databaseUrl,
    ...(pooledUrl === undefined ? {} : { DATABASE_DIRECT_URL: databaseUrl, PREPARED_STATEMENTS: 'off' }),
  });
  const ordinary = Array.from({ length: options.shops }, (): Speciality => ({}));
  const created = await setUp(databaseUrl, [...ordinary, ...(options.special ?? [])]);
  const canaries: Canary[] = [
    { name: 'SECRET_KEYS', secret: secretKeys.slice('canary:'.length) },
    { name: 'PXADMIN_PASSWORD', secret: env.PXADMIN_PASSWORD },
    ...created.flatMap(secretsOf),
  ];
  await carrier.lookFor(canaries);
  const printedSecrets = new Set<string>();
  const onSecrets = (names: readonly string[]): void => names.forEach((name) => printedSecrets.add(name));
  const calls = new CallBook(backend);
  const fleet = new Fleet({ services, env, canaries, calls, onSecrets });
  await fleet.start(strength);
  const baseUrl = fleet.webs[0]?.baseUrl ?? '';
  const { carriers = ['sendgrid'] } = options;
  const shops = await Promise.all(
    created.map((shop, index) =>
      openShop(shop, baseUrl, {
        captured: options.sqlWriters === true && index % 2 === 0,
        carrier: carriers[index % carriers.length] ?? 'sendgrid',
        smtpPort: carrier.smtpPort,
      }),
    ),
  );
  canaries.push(...shops.map(({ number, token }) => ({ name: `token of shop ${number}`, secret: token })));
  const ledger = new LedgerReader(databaseUrl);
  const application = new Application(databaseUrl, PATIENCE_MS);
  const queueStore = openQueueStore(services, ledger);
  return {
    backend,
    fleet,
    load: new Load(fleet, application, shops.slice(0, options.shops)),
    carrier,
    ledger,
    calls,
    queueStore,
    shops,
    canaries,
    strikes: [],
    spans: [],
    complaints: [],
    printedSecrets,
    services,
    timeMachine: createTimeMachine(folder, {
      // Immediate shutdown, as when its machine is lost.
      crash: async () => {
        const file = path.join(folder, 'postgres', 'data', 'postmaster.pid');
        process.kill(Number((await readFile(file, 'utf8')).split('\n')[0]), 'SIGQUIT');
        await postgres?.stop();
      },
      start: async () => {
        postgres = await startPostgres();
      },
    }),
    replicated,
    pooled,
    patroni,
    redisTopology,
    async restartPostgres() {
      await postgres?.stop();
      postgres = await startPostgres();
    },
    async restartRedis() {
      if (!redis) throw new Error('there is no Redis');
      await redis.stop('SIGKILL');
      redis = await startRedis(redis.port);
    },
    async stop() {
      await fleet.stop(GRACE_MS * 2);
      await queueStore.close();
      await ledger.close();
      await application.close();
      await carrier.stop();
      await redis?.stop();
      await redisTopology?.stop();
      await postgres?.stop();
      await replicated?.stop();
      await pooled?.stop();
      await patroni?.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function release(env: Readonly<Record<string, string>>): Promise<void> {
  const { code, stderr } = await runRowpost(['release'], env);
  if (code !== 0) throw new Error(`rowpost release exited ${String(code)}:\n${stderr}`);
}

async function setUp(databaseUrl: string, specialities: readonly Speciality[]): Promise<readonly Shop[]> {
  const database = openDatabase({
    url: databaseUrl,
    budget: TEST_BUDGET,
    keyRing: testKeyRing,
    statementTimeoutMs: 15_000,
    lockTimeoutMs: 5_000,
    poolTimeoutMs: 5_000,
    applicationName: 'fault harness',
    log: testLog,
  });
  try {
    await makeDaysPast(database);
    const shops: Shop[] = [];
    for (const special of specialities) shops.push(await createShop(database, shops.length + 1, special));
    return shops;
  } finally {
    await database.close();
  }
}

/** As after some days of operation: today's partition is not the table's first. */
async function makeDaysPast(database: Database): Promise<void> {
  await makePartitions(database.ledger, Date.now() - DAYS_PAST * DAY_MS, DAYS_PAST);
}
