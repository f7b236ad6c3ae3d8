import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { peerFile, peerNode } from '../support/peers.js';
import type { Backend } from './options.js';

/** A queue whose worker does nothing but send, each in a process of its own. */
export interface BareSender {
  readonly name: string;
  readonly store: Backend;
  readonly script: string;
  /** Whether it needs the newer Node of bench/peers. */
  readonly needsNewNode: boolean;
  readonly settings?: Readonly<Record<string, unknown>>;
}

export const BULL_ON_REDIS = bull('bare BullMQ on Redis', 'redis');
export const BULL_ON_POSTGRES = bull('bare BullMQ on PostgreSQL', 'postgres');

export const POSTGRES_PEERS: readonly BareSender[] = [
  graphile('bare graphile-worker, defaults', false),
  graphile('bare graphile-worker, batched', true),
  { name: 'bare pg-boss', store: 'postgres', script: 'pgBossSender.mjs', needsNewNode: true },
];

function bull(name: string, store: Backend): BareSender {
  return { name, store, script: 'bullSender.mjs', needsNewNode: false };
}

function graphile(name: string, batched: boolean): BareSender {
  return { name, store: 'postgres', script: 'graphileSender.mjs', needsNewNode: true, settings: { batched } };
}

export interface SenderOptions {
  /** Address of Redis or of a PostgreSQL database that it has for itself. */
  readonly store: string;
  readonly carrier: string;
  readonly events: number;
  /** Emails in hand at once. */
  readonly concurrency: number;
}

/** Adds the jobs. */
export async function fill(sender: BareSender, options: SenderOptions): Promise<void> {
  const [code] = (await once(start(sender, 'fill', options), 'exit')) as [number | null];
  if (code !== 0) throw new Error(`${sender.name}: filling its queue exited ${String(code)}`);
}

/** Starts its worker. End it by its stop(). */
export function work(
  sender: BareSender,
  options: SenderOptions,
): { readonly pid: number; stop(): Promise<void> } {
  const child = start(sender, 'work', options);
  if (child.pid === undefined) throw new Error(`${sender.name} did not start`);
  return {
    pid: child.pid,
    async stop() {
      const exited = once(child, 'exit');
      // Its jobs are done, so nothing is to be waited for.
      child.kill('SIGKILL');
      await exited;
    },
  };
}

function start(sender: BareSender, action: 'fill' | 'work', options: SenderOptions): ChildProcess {
  const node = sender.needsNewNode ? peerNode() : process.execPath;
  const script = fileURLToPath(peerFile(`senders/${sender.script}`));
  return spawn(node, [script, action, JSON.stringify({ ...options, ...sender.settings })], {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { PATH: process.env['PATH'] ?? '', NODE_ENV: 'production' },
  });
}
