import type { Ledger } from '../db/pool/ledgerPool.js';
import { readBacklog, type Backlog } from '../db/outbox/backlog.js';
import type { Logger } from '../foundation/observability/log.js';
import { cachedReading } from './cachedReading.js';

const CACHE_MS = 5_000;

/** The backlog of the whole installation, at most seconds old; undefined if PostgreSQL is unavailable. */
export type BacklogReader = () => Promise<Backlog | undefined>;

/** @param alarmSeconds `BACKLOG_ALARM_SECONDS`: the cache must not delay a short alarm */
export function createBacklogReader(
  { ledger, log }: { readonly ledger: Ledger; readonly log: Logger },
  alarmSeconds: number,
): BacklogReader {
  const cacheMs = alarmSeconds === 0 ? CACHE_MS : Math.min(CACHE_MS, alarmSeconds * 250);
  return cachedReading(() => readBacklog(ledger), { cacheMs, what: 'the backlog', log });
}
