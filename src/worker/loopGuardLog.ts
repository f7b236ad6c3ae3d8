import type { Trip } from '../db/ledger/closeBatch.js';
import type { Logger } from '../foundation/observability/log.js';
import { LogThrottle } from '../foundation/observability/logThrottle.js';

const LOG_INTERVAL_MS = 60_000;

/** Logs rules that fire in a loop, at most once a minute per rule. */
export class LoopGuardLog {
  readonly #throttle = new LogThrottle({ intervalMs: LOG_INTERVAL_MS, linesPerKey: 1 });

  constructor(private readonly log: Logger) {}

  report(tenantid: number, trips: readonly Trip[]): void {
    for (const { ruleid, target, skipped } of trips) {
      if (!this.#throttle.isDue(ruleid)) continue;
      // The record's key is tenant data: it is in the ledger, not in the log.
      this.log.warn(
        { tenantid, ruleid, target, skipped },
        'email rule is looping; suspended until the end of the minute',
      );
    }
  }
}
