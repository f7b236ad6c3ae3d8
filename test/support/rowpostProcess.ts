import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { noteLines } from './recentLines.js';
import { testEnv } from './testConfig.js';

const MAIN = fileURLToPath(new URL('../../dist/main.js', import.meta.url));

/** A process of the shipped program, as an operator would start it. */
export interface RowpostProcess {
  readonly child: ChildProcess;
  /** All that it wrote to stderr so far. */
  readonly log: () => string;
  /** Ends it with the signal and waits. @returns the exit code, null when the signal ended it */
  kill(signal: NodeJS.Signals): Promise<number | null>;
}

/** Starts `rowpost <command>` and waits until it says that it has started. */
export async function startProcess(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<RowpostProcess> {
  const child = spawnRowpost(args, { LOG_LEVEL: 'info', ...env });
  const log = collect(child);
  await new Promise<void>((resolve, reject) => {
    child.stderr?.on('data', function look() {
      if (!log().includes('"started"')) return;
      // Looking at all of it with every line would take ever more of what benchmarks measure.
      child.stderr?.off('data', look);
      resolve();
    });
    child.once('exit', (code) => {
      reject(new Error(`rowpost ${args.join(' ')} exited ${String(code)} before it started:\n${log()}`));
    });
  });
  return {
    child,
    log,
    async kill(signal) {
      if (child.exitCode !== null || child.signalCode !== null) return child.exitCode;
      const exited = once(child, 'exit') as Promise<[number | null]>;
      child.kill(signal);
      return (await exited)[0];
    },
  };
}

/** Runs a command to its end. */
export async function runRowpost(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  stdin = '',
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const child = spawnRowpost(args, env, 'pipe');
  child.stdin?.on('error', () => undefined); // of a command that ends without reading it
  child.stdin?.end(stdin);
  const stderr = collect(child);
  const parts: Buffer[] = [];
  child.stdout?.on('data', (part: Buffer) => parts.push(part));
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, stdout: Buffer.concat(parts).toString('utf8'), stderr: stderr() };
}

/** Starts a command and waits for nothing. */
export function spawnRowpost(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  stdin: 'ignore' | 'pipe' = 'ignore',
): ChildProcess {
  if (!existsSync(MAIN)) throw new Error('dist/ is missing: npm run build');
  const system = { PATH: process.env['PATH'] ?? '', HOME: process.env['HOME'] ?? '' };
  return spawn(process.execPath, [MAIN, ...args], {
    env: { ...system, ...testEnv(env) },
    stdio: [stdin, 'pipe', 'pipe'],
  });
}

function collect(child: ChildProcess): () => string {
  const parts: Buffer[] = [];
  const name = child.spawnargs.slice(1).map((arg) => path.basename(arg));
  child.stderr?.on('data', (part: Buffer) => {
    parts.push(part);
    noteLines(`${name.join(' ')} (process ${child.pid})`, part.toString());
  });
  return () => Buffer.concat(parts).toString('utf8');
}
