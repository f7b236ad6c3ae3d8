import type { Logger } from './log.js';

/** Logs the beginning and the end of an outage of a dependency instead of each failure. */
export interface Outage {
  failed(error: unknown): void;
  works(): void;
}

/** @param what begins the message: `PostgreSQL`, `the queue` */
export function startOutage(log: Logger, what: string): Outage {
  let sinceMs: number | undefined;
  return {
    failed(error) {
      if (sinceMs === undefined) log.error({ err: error }, `${what} does not answer`);
      sinceMs ??= performance.now();
    },
    works() {
      if (sinceMs === undefined) return;
      log.info({ seconds: Math.round((performance.now() - sinceMs) / 1000) }, `${what} answers again`);
      sinceMs = undefined;
    },
  };
}
