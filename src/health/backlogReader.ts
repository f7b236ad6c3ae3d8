import { setTimeout as delay } from 'node:timers/promises';
import type { Ledger } from '../db/connection/ledger.js';
import { readBacklog, type Backlog } from '../db/delivery/backlog.js';
import type { Logger } from '../log.js';

/** Cached, so that several scrapers and probes cost no more than one. */
const CACHE_MS = 5_000;
/** Probes and the other metrics don't wait for the database any longer. */
const QUERY_TIMEOUT_MS = 1_000;

/** The backlog of the whole installation, seconds old at most; undefined when PostgreSQL does not tell. */
export type BacklogReader = () => Promise<Backlog | undefined>;

/** @param alarmSeconds `BACKLOG_ALARM_SECONDS`: an alarm that is due within seconds is not to wait for the cache */
export function createBacklogReader(
  { ledger, log }: { readonly ledger: Ledger; readonly log: Logger },
  alarmSeconds: number,
): BacklogReader {
  const cacheMs = alarmSeconds === 0 ? CACHE_MS : Math.min(CACHE_MS, alarmSeconds * 250);
  let answer: Promise<Backlog | undefined> | undefined;
  let askedAtMs = -Infinity;
  let isReading = false;
  return () => {
    // One that takes longer than the cache lasts is not run twice.
    if (answer && (isReading || performance.now() - askedAtMs < cacheMs)) return answer;
    askedAtMs = performance.now();
    isReading = true;
    const reading = readBacklog(ledger)
      .catch((error: unknown) => {
        log.debug({ err: error }, 'the backlog can not be read');
        return undefined;
      })
      .finally(() => (isReading = false));
    answer = Promise.race([reading, delay(QUERY_TIMEOUT_MS, undefined, { ref: false })]);
    return answer;
  };
}
