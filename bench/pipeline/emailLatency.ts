import { setTimeout as delay } from 'node:timers/promises';
import type { Mutator } from './mutations.js';
import { percentile } from './numbers.js';
import { runPaced, type Pace } from './pacedLoad.js';
import type { Carrier } from './carrier.js';
import { readTimedSubject } from './timedSubject.js';

const PATIENCE_MS = 60_000;
const POLL_MS = 100;

/** How long emails took, in milliseconds, one figure an email. */
export interface EmailLatency {
  /** From the row's clock_timestamp(), just before its commit, to the carrier. */
  readonly fromWrite: readonly number[];
  /** From the mutation's response to the carrier; negative when the email was there first. */
  readonly fromResponse: readonly number[];
}

/** Paced mutations and the receipts of their emails. Throws when a mutation failed or an email is missing. */
export async function measureLatency(mutator: Mutator, carrier: Carrier, pace: Pace): Promise<EmailLatency> {
  await carrier.reset();
  const { answeredMs, failed, failure } = await runPaced(mutator, pace);
  if (failed > 0) throw new Error(`${failed} mutations failed`, { cause: failure });
  const fromWrite: number[] = [];
  const fromResponse: number[] = [];
  const missing = new Set(answeredMs.keys());
  const take = async (): Promise<void> => {
    for (const { subject, atMs } of (await carrier.reset()).receipts) {
      const { itemid, writtenMs } = readTimedSubject(subject);
      const answered = answeredMs.get(itemid);
      // Of an earlier load.
      if (answered === undefined) continue;
      missing.delete(itemid);
      fromWrite.push(atMs - writtenMs);
      fromResponse.push(atMs - answered);
    }
  };
  const deadline = Date.now() + PATIENCE_MS;
  await take();
  while (missing.size > 0) {
    if (Date.now() > deadline) throw new Error(`${missing.size} emails are missing`);
    await delay(POLL_MS);
    await take();
  }
  return { fromWrite, fromResponse };
}

export function describeLatency({ fromWrite, fromResponse }: EmailLatency): string {
  const shown = (values: readonly number[]): string =>
    [0.5, 0.95, 0.99, 1].map((share) => percentile(values, share).toFixed(1)).join(' / ');
  return `${fromWrite.length} emails, p50 / p95 / p99 / max ms: from the commit ${shown(fromWrite)}, from the response ${shown(fromResponse)}`;
}
