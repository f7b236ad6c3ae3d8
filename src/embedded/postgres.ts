import { rm } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Stoppable } from '../foundation/lifecycle/shutdown.js';
import { UsageError } from '../foundation/errors.js';
import { prepareBinaries } from './binaries.js';
import { clusterUrl, dataOwner, ensureCluster, placeCluster } from './cluster.js';
import { ensureDataFolder } from './dataFolder.js';
import { findFreePort, preferredPort, rememberPort } from './freePort.js';
import { readServerState, removeStaleFile } from './postmasterFile.js';
import { launchServer, type LaunchOptions } from './server.js';
import { serverUser } from './systemUser.js';

/** A PostgreSQL on 127.0.0.1 that needs no installation. */
export interface EmbeddedPostgres extends Stoppable {
  /** Its role may create roles and databases and owns the database `rowpost`, but is not a superuser. */
  readonly url: string;
  /** False if another Rowpost process runs the server, which stop() then leaves running. */
  readonly owned: boolean;
  /** Stops the server within 20 s: sessions are terminated, committed data is kept. */
  stop(): Promise<void>;
}

export interface EmbeddedPostgresOptions {
  /** Rowpost's own folder, `.rowpost`; created if missing. */
  readonly dataDir: string;
  /** For tests: fast instead of crash-safe, and all of `dataDir` is deleted however the server stops. */
  readonly throwaway?: boolean;
  /** For tests: main file of the npm package with another version of PostgreSQL. */
  readonly launcher?: string;
  /** For tests: `name=value` settings that override our own. */
  readonly settings?: readonly string[];
  /** Receives progress messages for the user. */
  readonly say: (line: string) => void;
}

const START_DEADLINE_MS = 60_000;
const RETRY_MS = 50;

const SETTINGS = [
  'listen_addresses=127.0.0.1',
  'unix_socket_directories=', // their paths may not exceed 107 bytes, and a clone's may
  'max_connections=200',
  'wal_level=minimal',
  'max_wal_senders=0',
  'log_timezone=UTC',
];
const THROWAWAY_SETTINGS = ['fsync=off', 'synchronous_commit=off', 'full_page_writes=off'];

/**
 * Starts the server on its data folder, which is created at the first start and kept. If another process already runs it,
 * that server is used. As root, the server runs under an unprivileged account.
 * @throws Error with a one-line message that says what to do
 */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  if (process.platform === 'win32')
    throw new UsageError('the embedded PostgreSQL needs Linux or macOS; set DATABASE_URL');
  const { say, throwaway = false } = options;
  const dataDir = path.resolve(options.dataDir);
  await ensureDataFolder(dataDir);
  const user = await serverUser(await dataOwner(path.join(dataDir, 'postgres')));
  const binaries = await prepareBinaries(options.launcher, user, dataDir, say);
  const cluster = await placeCluster(dataDir, user, say);
  await ensureCluster(cluster, binaries, user, !throwaway);

  const toDelete = throwaway ? [dataDir, cluster.home] : [];
  const launch: Omit<LaunchOptions, 'port'> = {
    cluster,
    binaries,
    user,
    settings: [...SETTINGS, ...(throwaway ? THROWAWAY_SETTINGS : []), ...(options.settings ?? [])],
    deleteAfterDeath: toDelete,
    onUnexpectedExit: () => {
      say(`the embedded PostgreSQL ended unexpectedly; see ${cluster.log}`);
    },
  };
  const running = await startOrJoin(launch);
  return {
    url: await clusterUrl(cluster, running.port),
    owned: running.owned,
    async stop() {
      await running.stop();
      if (!running.owned) return;
      for (const folder of toDelete) await rm(folder, { recursive: true, force: true });
    },
  };
}

interface Running extends Stoppable {
  readonly port: number;
  readonly owned: boolean;
}

/** PostgreSQL allows only one server per data folder; a second process joins the first one's. */
async function startOrJoin(launch: Omit<LaunchOptions, 'port'>): Promise<Running> {
  const { cluster } = launch;
  let port = await preferredPort(cluster);
  const deadline = Date.now() + START_DEADLINE_MS;
  while (Date.now() < deadline) {
    await removeStaleFile(cluster.data);
    const state = await readServerState(cluster.data);
    if (state.kind === 'ready') return { port: state.port, owned: false, stop: () => Promise.resolve() };
    const outcome =
      state.kind === 'none' ? await launchServer({ ...launch, port }) : { kind: 'locked' as const };
    if (outcome.kind === 'ready') {
      await rememberPort(cluster, port);
      return { port, owned: true, stop: () => outcome.server.stop() };
    }
    if (outcome.kind === 'port-taken') port = await findFreePort();
    if (outcome.kind === 'locked') await delay(RETRY_MS);
    if (outcome.kind === 'failed') {
      throw new UsageError(`the embedded PostgreSQL did not start; its log ends:\n${outcome.log}`);
    }
  }
  throw new UsageError(
    `another PostgreSQL uses ${cluster.data} but accepts no connections; see ${cluster.log}, or set DATABASE_URL`,
  );
}
