import type { Logger } from './log.js';
import { FAILURES_PER_SECOND, LogSampler } from './logSampler.js';

/** Logs errors that are ours as far as we can tell. */
export class InternalErrors {
  readonly #sampler: LogSampler;

  constructor(private readonly log: Logger) {
    this.#sampler = new LogSampler(FAILURES_PER_SECOND, (count) =>
      log.warn({ count }, 'internal errors left out of the log'),
    );
  }

  /** @param id of the request, for the caller to refer to */
  report(error: unknown, message: string, tenantid: number | undefined, id: string | undefined): void {
    if (this.#sampler.take(tenantid)) this.log.error({ err: error, tenantid, id }, message);
  }
}
