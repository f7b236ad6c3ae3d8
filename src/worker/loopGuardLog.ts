import { LRUCache } from 'lru-cache';
import type { Trip } from '../db/ledger/closeBatch.js';
import type { Logger } from '../foundation/observability/log.js';

const LOG_INTERVAL_MS = 60_000;
const MAX_REMEMBERED = 10_000;

/** Logs rules that fire in a loop, at most once a minute per rule. */
export class LoopGuardLog {
  readonly #logged = new LRUCache<string, true>({ max: MAX_REMEMBERED, ttl: LOG_INTERVAL_MS });

  constructor(private readonly log: Logger) {}

  report(tenantid: number, trips: readonly Trip[]): void {
    for (const { ruleid, target, skipped } of trips) {
      if (this.#logged.has(ruleid)) continue;
      this.#logged.set(ruleid, true);
      // The record's key is tenant data: it is in the ledger, not in the log.
      this.log.warn(
        { tenantid, ruleid, target, skipped },
        'email rule is looping; suspended until the end of the minute',
      );
    }
  }
}
