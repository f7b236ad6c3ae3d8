import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import os from 'node:os';
import { createInterface } from 'node:readline';
import { findRedisServer } from '../../scripts/redis.mjs';
import { findFreePort } from '../../src/embedded/freePort.js';
import { watchOver } from '../../src/embedded/watchdog.js';

/** A real Redis of the test's own, which it may stop, kill and start again. */
export interface RedisServer {
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  /** Ends it. Nothing is saved. SIGKILL for a crash. */
  stop(signal?: NodeJS.Signals): Promise<void>;
}

const DATABASES = 1024;
const READY = 'Ready to accept connections';
const START_TRIES = 5;

/** @param port to start again where an earlier one was; a free one by default */
export async function startRedis(
  port?: number,
  settings: Readonly<Record<string, string>> = {},
): Promise<RedisServer> {
  const program = await findRedisServer();
  for (let tries = 1; ; tries++) {
    const chosen = port ?? (await findFreePort());
    const output: string[] = [];
    const child = spawn(program, serverArguments(chosen, settings), {
      cwd: os.tmpdir(),
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    if (await becomesReady(child, output, READY)) return supervise(child, chosen);
    // Another process may have taken the port between our look and the start.
    if (tries === START_TRIES)
      throw new Error(`redis-server does not start:\n${output.slice(-5).join('\n')}`);
  }
}

/** @param configFile which the Sentinel rewrites; names its port */
export async function startSentinel(port: number, configFile: string): Promise<RedisServer> {
  const output: string[] = [];
  const child = spawn(await findRedisServer(), [configFile, '--sentinel'], {
    cwd: os.tmpdir(),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  if (await becomesReady(child, output, '+monitor master')) return supervise(child, port);
  throw new Error(`the Sentinel does not start:\n${output.slice(-5).join('\n')}`);
}

function serverArguments(port: number, over: Readonly<Record<string, string>>): string[] {
  const settings = {
    port: String(port),
    bind: '127.0.0.1',
    save: '',
    appendonly: 'no',
    'maxmemory-policy': 'noeviction',
    databases: String(DATABASES),
    // A replica writes what its primary sends into a file, which the next server in the same folder would load.
    dbfilename: `rowpost-test-${port}.rdb`,
    'rdb-del-sync-files': 'yes',
    'repl-diskless-sync-delay': '0', // 5 s by default, for replicas that come later
    ...over,
  };
  return Object.entries(settings).flatMap(([name, value]) => [`--${name}`, ...value.split(' ')]);
}

async function becomesReady(child: ChildProcess, output: string[], ready: string): Promise<boolean> {
  if (!child.stdout) return false;
  const exited = once(child, 'exit').then(
    () => false,
    () => false,
  );
  const isReady = new Promise<boolean>((resolve) => {
    createInterface({ input: child.stdout! }).on('line', (line) => {
      output.push(line);
      if (line.includes(ready)) resolve(true);
    });
  });
  return Promise.race([isReady, exited]);
}

function supervise(child: ChildProcess, port: number): RedisServer {
  const pid = child.pid!;
  const callOff = watchOver(pid, []);
  const exited = once(child, 'exit').then(callOff);
  child.unref();
  return {
    url: `redis://127.0.0.1:${port}`,
    port,
    pid,
    async stop(signal = 'SIGTERM') {
      child.ref();
      child.kill(signal);
      await exited;
    },
  };
}
