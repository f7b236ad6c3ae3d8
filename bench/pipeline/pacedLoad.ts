import { setTimeout as delay } from 'node:timers/promises';
import type { Mutator } from './mutations.js';

/** What became of the mutations of a paced load. */
export interface PacedRun {
  /** When each item's mutation was answered, by the item's key. */
  readonly answeredMs: ReadonlyMap<string, number>;
  readonly failed: number;
  /** Of the first that failed. */
  readonly failure?: unknown;
}

export interface Pace {
  readonly perSecond: number;
  readonly seconds: number;
  /** Ends the load early. */
  readonly signal?: AbortSignal;
}

const MIN_SLEEP_MS = 1;

/** Sends mutations at a steady rate, whether or not the ones before have a response. Waits for all responses. */
export async function runPaced(mutator: Mutator, { perSecond, seconds, signal }: Pace): Promise<PacedRun> {
  const answeredMs = new Map<string, number>();
  const inHand = new Set<Promise<void>>();
  let failed = 0;
  let failure: unknown;
  const begun = performance.now();
  const total = Math.round(perSecond * seconds);
  for (let sent = 0; sent < total && signal?.aborted !== true;) {
    const due = Math.min(total, Math.floor(((performance.now() - begun) / 1000) * perSecond) + 1);
    for (; sent < due; sent++) {
      const one = mutator
        .mutate()
        .then(
          (response) => {
            answeredMs.set(response.itemid, response.answeredMs);
          },
          (error: unknown) => {
            failed += 1;
            failure ??= error;
          },
        )
        .finally(() => inHand.delete(one));
      inHand.add(one);
    }
    const nextMs = (sent * 1000) / perSecond - (performance.now() - begun);
    await delay(Math.max(MIN_SLEEP_MS, nextMs));
  }
  await Promise.all(inHand);
  return { answeredMs, failed, failure };
}
