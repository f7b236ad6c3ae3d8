import type { Trip } from '../db/delivery/closeBatch.js';
import type { Logger } from '../log.js';

const LOG_INTERVAL_MS = 60_000;
const MAX_REMEMBERED = 10_000;

/** Logs rules that fire in a loop, at most once a minute per rule. */
export class LoopTrips {
  readonly #quietUntil = new Map<string, number>();

  constructor(private readonly log: Logger) {}

  report(tenantid: number, trips: readonly Trip[]): void {
    const now = performance.now();
    for (const { ruleid, target, skipped } of trips) {
      if (now < (this.#quietUntil.get(ruleid) ?? -Infinity)) continue;
      if (this.#quietUntil.size >= MAX_REMEMBERED) this.#quietUntil.clear();
      this.#quietUntil.set(ruleid, now + LOG_INTERVAL_MS);
      // The record's key is tenant data: it is in the ledger, not in the log.
      this.log.warn(
        { tenantid, ruleid, target, skipped },
        'a rule fires in a loop: it is held for the rest of the minute',
      );
    }
  }
}
