import { setTimeout as delay } from 'node:timers/promises';
import type { Mutator } from './mutations.js';
import type { Carrier } from './carrier.js';

export interface Sustained {
  readonly mutationsPerSecond: number;
  readonly emailsPerSecond: number;
  /** Most mutations that were acknowledged and not yet emailed. */
  readonly maxBehind: number;
  /** Of the whole run, with warm-up and end. */
  readonly emails: number;
}

export interface ClosedLoad {
  readonly connections: number;
  /** Before anything is counted. */
  readonly warmUpSeconds: number;
  readonly seconds: number;
  /** No mutation is sent while so many have not become emails yet. */
  readonly maxBehind: number;
}

const POLL_MS = 25;
const HOLD_MS = 5;

/**
 * Mutations one after the other on each connection, held back while the emails are behind: the highest rate at which
 * emails keep up finds itself. Waits until all emails are there, and throws when one is missing.
 */
export async function runClosedLoad(
  mutator: Mutator,
  carrier: Carrier,
  load: ClosedLoad,
): Promise<Sustained> {
  await carrier.reset();
  let stopped = false;
  let acknowledged = 0;
  let accepted = 0;
  let maxBehind = 0;
  const look = async (): Promise<void> => {
    while (!stopped) {
      accepted = (await carrier.counts()).accepted;
      maxBehind = Math.max(maxBehind, acknowledged - accepted);
      await delay(POLL_MS);
    }
  };
  const isStopped = (): boolean => stopped;
  const connection = async (): Promise<void> => {
    while (!isStopped()) {
      if (acknowledged - accepted >= load.maxBehind) {
        await delay(HOLD_MS);
        continue;
      }
      await mutator.mutate();
      acknowledged += 1;
    }
  };
  const read = async () => {
    const atMs = performance.now();
    return { atMs, acknowledged, accepted: (await carrier.counts()).accepted };
  };
  const looking = look();
  const connections = Array.from({ length: load.connections }, connection);
  // An error of any connection ends the run at once.
  const failed = Promise.all(connections);
  const timed = async () => {
    await delay(load.warmUpSeconds * 1000);
    const from = await read();
    await delay(load.seconds * 1000);
    return { from, to: await read() };
  };
  let measured: Awaited<ReturnType<typeof timed>>;
  try {
    const endedEarly = failed.then(() => Promise.reject(new Error('the load ended early')));
    measured = await Promise.race([timed(), endedEarly]);
  } finally {
    stopped = true;
    await looking;
  }
  await failed;
  await carrier.untilAccepted(acknowledged);
  const { from, to } = measured;
  const seconds = (to.atMs - from.atMs) / 1000;
  return {
    mutationsPerSecond: (to.acknowledged - from.acknowledged) / seconds,
    emailsPerSecond: (to.accepted - from.accepted) / seconds,
    maxBehind,
    emails: acknowledged,
  };
}
