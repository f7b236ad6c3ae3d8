import { applicationName } from '../db/pool/connectedProcesses.js';
import { readVersion } from '../foundation/version.js';
import type { TemplatePool } from 'rowpost-jinja2';
import { systemClock } from '../foundation/clock.js';
import type { Web } from '../api/server.js';
import type { Config } from '../config/config.js';
import { loadConfig } from './loadConfig.js';
import { divideConnections, type ProcessRole } from '../db/pool/connectionBudget.js';
import { openDatabase, type Database } from '../db/pool/database.js';
import { watchHistory, type HistoryWatch } from '../db/failover/history.js';
import { requireSessions } from '../db/pool/pooler.js';
import { requireReachable, requireWritable } from '../db/failover/reachability.js';
import { missingRights } from '../db/isolation/rights.js';
import { isServerError } from '../db/sql/sqlState.js';
import { toAppError } from '../db/sql/toAppError.js';
import { pendingMigrations } from '../db/schema/migrate.js';
import { PrincipalSource } from '../db/roles/principal.js';
import { createRelayWaker } from '../db/pool/wakeup.js';
import type { DataEngine } from '../graphql/dataEngine.js';
import { createLogger, type Logger } from '../foundation/observability/log.js';
import { renderings } from '../foundation/observability/metrics.js';
import type { HealthServer } from '../health/healthServer.js';
import type { Queue } from '../queue/queue.js';
import type { KeyRing } from '../config/secrets.js';
import type { Services } from '../control/services.js';
import { stoppable, stopAll, type Stoppable } from '../foundation/lifecycle/shutdown.js';
import {
  createStartup,
  NotReadyError,
  type Dependency,
  type Startup,
} from '../foundation/lifecycle/startup.js';
import { startTracing } from '../foundation/observability/tracing/startTracing.js';
import { UsageError } from '../foundation/errors.js';

/** Maximum time to render one email before its process is ended. */
const RENDER_DEADLINE_MS = 5_000;

/** An opened installation: what every process needs. */
export interface Installation extends Omit<Services, 'engine'> {
  /** Serves tenants' tables. Loaded at the first call, since relays and most commands do without. */
  readonly openEngine: () => Promise<DataEngine>;
  readonly history: HistoryWatch;
  readonly startup: Startup;
  /** Known in an embedded installation, and at `release` if PXADMIN_PASSWORD is set. */
  readonly pxadminPassword: string | undefined;
  stop(): Promise<void>;
}

/**
 * Opens an installation for a process, starting the embedded PostgreSQL if no DATABASE_URL is set.
 * @param patienceMs how long to wait for PostgreSQL to become available; interactive commands don't wait
 */
export async function openInstallation(
  processName: string,
  role: ProcessRole,
  config = loadConfig(process.env),
  patienceMs = role === 'command' ? 0 : Infinity,
): Promise<Installation> {
  const log = createLogger(config.logLevel, processName);
  for (const former of config.formerSettings) log.warn(former);
  const tracing = role === 'command' ? undefined : await startTracing(process.env, processName, log);
  const budget = divideConnections(config.pgPool, role, config.redisUrl === undefined);
  const backend = await openBackend(config, log);
  const database = openDatabase({
    // Commands need no pooler.
    ...(role === 'command' || backend.directUrl === undefined
      ? { url: backend.directUrl ?? backend.databaseUrl }
      : { url: backend.databaseUrl, directUrl: backend.directUrl }),
    // The other processes only read data that must be current.
    replicaUrls: role === 'command' || role === 'relay' ? [] : config.databaseReplicaUrls,
    maxReplicaLagMs: 1000 * config.maxReplicaLagSeconds,
    preparedStatements: config.preparedStatements,
    passwordCommand: config.databasePasswordCommand,
    budget,
    keyRing: backend.keyRing,
    statementTimeoutMs: config.statementTimeoutMs,
    requestTimeoutMs: config.requestTimeoutMs,
    lockTimeoutMs: config.lockTimeoutMs,
    poolTimeoutMs: config.poolTimeoutMs,
    applicationName: applicationName(processName, readVersion()),
    log,
  });
  const startup = createStartup({
    patienceMs,
    log,
    announce: (dependency) => announceWaiting(config, role, dependency, log),
  });
  try {
    await startup.step(() => requireReachable(database.pool));
    if (database.isPooled) {
      await startup.step(() => requireReachable(database.ledgerPool, 'DATABASE_DIRECT_URL'));
    }
    if (role !== 'command') await startup.step(() => requireSessions(database, config.preparedStatements));
  } catch (error) {
    await database.close();
    await backend.stop();
    throw error;
  }
  const waker = createRelayWaker({ database, log });
  const principals = new PrincipalSource(database.pool);
  const history = watchHistory({ pool: database.pool, log });
  history.onChange(() => {
    principals.forgetAll();
    database.tenants.forgetNames();
  });
  let engine: Promise<DataEngine> | undefined;
  const openEngine = async (): Promise<DataEngine> => {
    const { createDataEngine } = await import('../graphql/dataEngine.js');
    const { keyRing } = backend;
    const opened = createDataEngine({ database, config, keyRing, log, onCommitted: () => waker.wake() });
    history.onChange(() => opened.forgetAll());
    return opened;
  };
  return {
    config,
    log,
    clock: systemClock,
    database,
    keyRing: backend.keyRing,
    principals,
    openEngine: () => (engine ??= openEngine()),
    history,
    startup,
    pxadminPassword: backend.pxadminPassword,
    async stop() {
      await history.stop();
      await waker.stop();
      await database.close();
      await backend.stop();
      await tracing?.stop();
    },
  };
}

/** Serves probes while waiting, on the port that the process will use for them. */
async function announceWaiting(
  config: Config,
  role: ProcessRole,
  dependency: Dependency,
  log: Logger,
): Promise<() => Promise<void>> {
  const isWeb = role === 'web' || role === 'all';
  const port = isWeb ? config.port : config.healthPort;
  if (role === 'command' || port === undefined) return () => Promise.resolve();
  const { serveWhileWaiting } = await import('../health/healthServer.js');
  return serveWhileWaiting({ host: isWeb ? config.host : config.healthHost, port }, dependency, log);
}

/** Database URL and keys. */
interface Backend {
  readonly databaseUrl: string;
  readonly directUrl?: string | undefined;
  readonly keyRing: KeyRing;
  readonly pxadminPassword: string | undefined;
  stop(): Promise<void>;
}

async function openBackend(config: Config, log: Logger): Promise<Backend> {
  if (config.databaseUrl !== undefined && config.secretKeys !== undefined) {
    return {
      databaseUrl: config.databaseUrl,
      directUrl: config.databaseDirectUrl,
      keyRing: config.secretKeys,
      pxadminPassword: config.pxadminPassword,
      stop: () => Promise.resolve(),
    };
  }
  const { openEmbeddedBackend } = await import('../embedded/backend.js');
  return openEmbeddedBackend(config, log);
}

// Each part's modules are loaded when it starts: a replacement relay starts faster without those of the web part.

/** Opens the service's render processes. */
export async function openTemplates({ config }: Installation): Promise<TemplatePool> {
  const { createTemplatePool } = await import('rowpost-jinja2');
  return createTemplatePool({
    processes: config.renderProcesses,
    deadlineMs: RENDER_DEADLINE_MS,
    onRendered: (durationMs) => renderings.observe(durationMs / 1000),
  });
}

/** The HTTP server. Doesn't need the queue, so mutations commit during a queue outage. */
export async function startWebPart(installation: Installation, templates: TemplatePool): Promise<Web> {
  const [engine, { startWeb }, { createControlEngine }, { openCarriers }] = await Promise.all([
    installation.openEngine(),
    import('../api/server.js'),
    import('../control/controlEngine.js'),
    import('../email/carriers/openCarriers.js'),
  ]);
  const { config, database } = installation;
  const carriers = openCarriers(config, database);
  const control = createControlEngine({ ...installation, engine, templates, carriers });
  const checks = { postgres: () => database.pool.query('select') };
  const web = await startWeb({ ...installation, engine, control, templates, carriers, checks });
  // It concerns one request and must not end the others.
  process.on('unhandledRejection', (error) => installation.log.error({ err: error }, 'unhandled rejection'));
  return { ...web, stop: () => stopAll([web, stoppable(carriers)]) };
}

/** The queue, for relay and worker. Throws UsageError if it is unusable. */
export async function openQueuePart({ config, database, log, startup }: Installation): Promise<Queue> {
  const [{ openQueue }, { watchQueue }] = await Promise.all([
    import('../queue/openQueue.js'),
    import('../queue/queueWatch.js'),
  ]);
  const queue = await startup.step(() => openQueue(config, database, log));
  const watch = watchQueue(queue, log);
  return {
    ...queue,
    async close() {
      await watch.stop();
      await queue.close();
    },
  };
}

/** Probes and metrics of a relay or worker; none without HEALTH_PORT. */
export async function startHealthPart(
  { config, database, log }: Installation,
  process: 'relay' | 'worker',
  queue: Queue,
): Promise<HealthServer | undefined> {
  if (config.healthPort === undefined) return undefined;
  const { startHealthServer } = await import('../health/healthServer.js');
  const checks = { postgres: () => requireWritable(database), queue: () => queue.check() };
  return startHealthServer({ config, database, log, checks }, process, config.healthPort);
}

/** Outbox → queue. */
export async function startRelayPart(installation: Installation, queue: Queue): Promise<Stoppable> {
  const { startRelay } = await import('../relay/relay.js');
  return startRelay({ ...installation, queue });
}

/** Queue → carrier. */
export async function startWorkerPart(
  installation: Installation,
  templates: TemplatePool,
  queue: Queue,
): Promise<Stoppable> {
  templates.warmUp();
  const [engine, { startWorker }] = await Promise.all([
    installation.openEngine(),
    import('../worker/worker.js'),
  ]);
  return startWorker({ ...installation, engine, templates, queue });
}

/** Opens an installation, runs the work and closes it. @returns exit status 0 */
export async function withInstallation(work: (installation: Installation) => Promise<void>): Promise<number> {
  const installation = await openInstallation('command', 'command');
  try {
    await requireCurrentSchema(installation.database);
    await work(installation);
    return 0;
  } finally {
    await installation.stop();
  }
}

/** Refuses to run on a database that `rowpost release` has not migrated. */
export async function requireCurrentSchema(database: Database): Promise<void> {
  const pending = await pendingMigrations(database.pool).catch(async (error: unknown) => {
    // knex does not see tables of other roles, and fails to create its own.
    const lacking = isServerError(error) ? await missingRights(database.pool).catch(() => []) : [];
    if (lacking.length > 0) throw new UsageError(lacking.join('\n'));
    const appError = toAppError(error);
    throw appError.code === 'DATABASE_UNAVAILABLE' ? new NotReadyError(appError.message, 'postgres') : error;
  });
  if (pending === 'all') throw new UsageError('the database is not set up yet: run "rowpost release" first');
  if (pending.length > 0) {
    throw new UsageError(`the database lacks ${pending.length} migration(s): run "rowpost release" first`);
  }
}
