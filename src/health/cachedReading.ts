import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from '../foundation/observability/log.js';

/** Probes and other metrics don't wait longer for the database. */
const TIMEOUT_MS = 1_000;

/**
 * Caches a reading, so that several scrapers and probes cost no more than one.
 * @param what names the reading in log messages
 * @returns a function that reads at most once per `cacheMs`; undefined if PostgreSQL is not responding in time
 */
export function cachedReading<T>(
  read: () => Promise<T>,
  { cacheMs, what, log }: { readonly cacheMs: number; readonly what: string; readonly log: Logger },
): () => Promise<T | undefined> {
  let latest: Promise<T | undefined> | undefined;
  let requestedAtMs = -Infinity;
  let isReading = false;
  return () => {
    // A reading that takes longer than `cacheMs` is not started twice.
    if (latest && (isReading || performance.now() - requestedAtMs < cacheMs)) return latest;
    requestedAtMs = performance.now();
    isReading = true;
    const reading = read()
      .catch((error: unknown) => {
        log.debug({ err: error }, `could not read ${what}`);
        return undefined;
      })
      .finally(() => (isReading = false));
    latest = Promise.race([reading, delay(TIMEOUT_MS, undefined, { ref: false })]);
    return latest;
  };
}
