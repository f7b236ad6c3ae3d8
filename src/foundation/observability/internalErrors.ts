import type { Logger } from './log.js';
import { FAILURES_PER_SECOND, LogThrottle } from './logThrottle.js';

/** Logs errors that are ours as far as we can tell. */
export class InternalErrors {
  readonly #throttle: LogThrottle;

  constructor(private readonly log: Logger) {
    this.#throttle = new LogThrottle({
      intervalMs: 1_000,
      lines: FAILURES_PER_SECOND,
      linesPerKey: FAILURES_PER_SECOND / 2,
      onLeftOut: (count) => log.warn({ count }, 'internal errors left out of the log'),
    });
  }

  /** @param id of the request, for the caller to refer to */
  report(error: unknown, message: string, tenantid: number | undefined, id: string | undefined): void {
    if (this.#throttle.isDue(tenantid)) this.log.error({ err: error, tenantid, id }, message);
  }
}
