import { spawn, type ChildProcess } from 'node:child_process';
import { open, readFile, stat, truncate } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import type { Binaries } from './binaries.js';
import type { Cluster } from './cluster.js';
import { readServerState } from './postmasterFile.js';
import { PROGRAM_ENV } from './runProgram.js';
import type { SystemUser } from './systemUser.js';
import { watchOver } from './watchdog.js';

/** A running server that this process started. */
interface Server {
  /** Terminates sessions, flushes everything to disk and waits for the server to exit. */
  stop(): Promise<void>;
}

/** The outcome of a start; distinguishes retryable failures from fatal ones. */
export type Launch =
  | { readonly kind: 'ready'; readonly server: Server }
  | { readonly kind: 'port-taken' }
  /** Another server uses, or just used, the data folder. */
  | { readonly kind: 'locked' }
  | { readonly kind: 'failed'; readonly log: string };

export interface LaunchOptions {
  readonly cluster: Cluster;
  readonly binaries: Binaries;
  readonly user: SystemUser | undefined;
  readonly port: number;
  /** `name=value` settings of the server. */
  readonly settings: readonly string[];
  /** Folders to delete if this process dies before it stops the server. */
  readonly deleteAfterDeath: readonly string[];
  readonly onUnexpectedExit: () => void;
}

const POLL_MS = 20;
const LOG_LIMIT_BYTES = 5_000_000;
const START_DEADLINE_MS = 60_000;
/** Sessions get a moment to close before they are terminated, which normally takes well under a second. */
const STOP_STEPS = [
  ['SIGTERM', 500],
  ['SIGINT', 10_000],
  ['SIGQUIT', 5_000],
  ['SIGKILL', 5_000],
] as const;

export async function launchServer(options: LaunchOptions): Promise<Launch> {
  const { cluster } = options;
  const logStart = await beginLog(cluster.log);
  const child = await spawnServer(options);
  const callOff = child.pid === undefined ? undefined : watchOver(child.pid, options.deleteAfterDeath);
  const exited = new Promise<void>((resolve) => {
    child.once('exit', () => resolve());
    child.once('error', () => resolve());
  });
  void exited.then(callOff);

  const deadline = Date.now() + START_DEADLINE_MS;
  while (isRunning(child) && Date.now() < deadline) {
    const state = await readServerState(cluster.data);
    if (state.kind === 'ready' && state.pid === child.pid) {
      return { kind: 'ready', server: supervise(child, exited, options.onUnexpectedExit) };
    }
    await Promise.race([exited, delay(POLL_MS)]);
  }
  await stopServer(child, exited);
  return explainFailure((await readFile(cluster.log)).subarray(logStart).toString('utf8'));
}

async function spawnServer(options: LaunchOptions): Promise<ChildProcess> {
  const { cluster, binaries, user, port, settings } = options;
  const log = await open(cluster.log, 'a', 0o600);
  try {
    return spawn(
      binaries.postgres,
      ['-D', cluster.data, '-p', String(port), ...settings.flatMap((setting) => ['-c', setting])],
      {
        cwd: cluster.home,
        env: PROGRAM_ENV,
        stdio: ['ignore', log.fd, log.fd],
        // Its own session, because Ctrl-C in a terminal is meant for us: we stop the server when our work is done.
        detached: true,
        ...user,
      },
    );
  } finally {
    await log.close();
  }
}

function supervise(child: ChildProcess, exited: Promise<void>, onUnexpectedExit: () => void): Server {
  child.unref(); // It must not keep our process alive.
  let stopping: Promise<void> | undefined;
  void exited.then(() => {
    if (!stopping) onUnexpectedExit();
  });
  return { stop: () => (stopping ??= stopServer(child, exited)) };
}

async function stopServer(child: ChildProcess, exited: Promise<void>): Promise<void> {
  child.ref();
  for (const [signal, waitMs] of STOP_STEPS) {
    if (!isRunning(child)) return;
    child.kill(signal);
    const patience = new AbortController();
    await Promise.race([exited, delay(waitMs, undefined, { signal: patience.signal })]);
    patience.abort();
  }
}

function isRunning(child: ChildProcess): boolean {
  return child.pid !== undefined && child.exitCode === null && child.signalCode === null;
}

/** Appends to the log unless it has grown too long. @returns its current length in bytes */
async function beginLog(file: string): Promise<number> {
  const size = await stat(file).then(
    (found) => found.size,
    () => 0, // The first start.
  );
  if (size <= LOG_LIMIT_BYTES) return size;
  await truncate(file);
  return 0;
}

function explainFailure(log: string): Launch {
  if (/could not bind|could not create any TCP/.test(log)) return { kind: 'port-taken' };
  if (/lock file "postmaster.pid" already exists|pre-existing shared memory block/.test(log)) {
    return { kind: 'locked' };
  }
  return { kind: 'failed', log: log.trim().split('\n').slice(-5).join('\n') };
}
