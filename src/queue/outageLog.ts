import type { Logger } from '../foundation/observability/log.js';

const LOG_INTERVAL_MS = 30_000;

/** An error listener that logs an outage of the queue's store at intervals, not for every retry. */
export function logOutages(log: Logger, what: string): (error: Error) => void {
  let mutedUntilMs = 0;
  return (error) => {
    const now = Date.now();
    if (now < mutedUntilMs) return;
    mutedUntilMs = now + LOG_INTERVAL_MS;
    log.warn({ err: error }, `${what} is unavailable; retrying`);
  };
}
