import type { ErrorCode } from '../../foundation/errors.js';
import type { Logger } from '../../foundation/observability/log.js';
import { LogThrottle } from '../../foundation/observability/logThrottle.js';

const LOG_INTERVAL_MS = 60_000;

/**
 * Logs policy rules that no longer match their table, at most once a minute per rule and table: they are compiled for
 * each mention of the table, hundreds of which fit into a document.
 */
export class BrokenRules {
  readonly #throttle = new LogThrottle({ intervalMs: LOG_INTERVAL_MS, linesPerKey: 1 });

  constructor(private readonly log: Logger) {}

  report(tenantid: number, ruleid: number, table: string, code: ErrorCode): void {
    if (!this.#throttle.isDue(`${ruleid} ${table}`)) return;
    this.log.warn({ tenantid, ruleid, table, code }, 'a policy rule does not compile');
  }
}
