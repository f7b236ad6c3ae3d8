import type { Trip } from '../db/delivery/closeBatch.js';
import type { Logger } from '../log.js';

const QUIET_MS = 60_000;
const MAX_REMEMBERED = 10_000;

/** Says in the log, once a minute for each rule, that it fires again and again for one record. */
export class LoopTrips {
  readonly #quietUntil = new Map<string, number>();

  constructor(private readonly log: Logger) {}

  report(tenantid: number, trips: readonly Trip[]): void {
    const now = performance.now();
    for (const { ruleid, target, skipped } of trips) {
      if (now < (this.#quietUntil.get(ruleid) ?? -Infinity)) continue;
      if (this.#quietUntil.size >= MAX_REMEMBERED) this.#quietUntil.clear();
      this.#quietUntil.set(ruleid, now + QUIET_MS);
      // The record's key is the tenant's own data: it is in the ledger.
      this.log.warn(
        { tenantid, ruleid, target, skipped },
        'a rule fires in a loop: it is held for the rest of the minute',
      );
    }
  }
}
