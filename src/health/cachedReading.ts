import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from '../log.js';

/** Probes and the other metrics don't wait for the database any longer. */
const TIMEOUT_MS = 1_000;

/**
 * Several scrapers and probes cost no more than one.
 * @param what names the reading in the log
 * @returns a function that reads, at most once within `cacheMs`; undefined when PostgreSQL does not answer in time
 */
export function cachedReading<T>(
  read: () => Promise<T>,
  { cacheMs, what, log }: { readonly cacheMs: number; readonly what: string; readonly log: Logger },
): () => Promise<T | undefined> {
  let answer: Promise<T | undefined> | undefined;
  let askedAtMs = -Infinity;
  let isReading = false;
  return () => {
    // One that takes longer than the cache lasts is not run twice.
    if (answer && (isReading || performance.now() - askedAtMs < cacheMs)) return answer;
    askedAtMs = performance.now();
    isReading = true;
    const reading = read()
      .catch((error: unknown) => {
        log.debug({ err: error }, `${what} can not be read`);
        return undefined;
      })
      .finally(() => (isReading = false));
    answer = Promise.race([reading, delay(TIMEOUT_MS, undefined, { ref: false })]);
    return answer;
  };
}
