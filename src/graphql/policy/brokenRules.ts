import { LRUCache } from 'lru-cache';
import type { ErrorCode } from '../../foundation/errors.js';
import type { Logger } from '../../foundation/observability/log.js';

const LOG_INTERVAL_MS = 60_000;
const MAX_REMEMBERED = 10_000;

/**
 * Logs policy rules that no longer match their table, at most once a minute per rule and table: they are compiled for
 * each mention of the table, hundreds of which fit into a document.
 */
export class BrokenRules {
  readonly #logged = new LRUCache<string, true>({ max: MAX_REMEMBERED, ttl: LOG_INTERVAL_MS });

  constructor(private readonly log: Logger) {}

  report(tenantid: number, ruleid: number, table: string, code: ErrorCode): void {
    const key = `${ruleid} ${table}`;
    if (this.#logged.has(key)) return;
    this.#logged.set(key, true);
    this.log.warn({ tenantid, ruleid, table, code }, 'a policy rule does not compile');
  }
}
