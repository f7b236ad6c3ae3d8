import type { Logger } from '../foundation/observability/log.js';
import { LogThrottle } from '../foundation/observability/logThrottle.js';

const LOG_INTERVAL_MS = 30_000;

/** An error listener that logs an outage of the queue's store at intervals, not for every retry. */
export function logOutages(log: Logger, what: string): (error: Error) => void {
  const throttle = new LogThrottle({ intervalMs: LOG_INTERVAL_MS, lines: 1 });
  return (error) => {
    if (throttle.isDue()) log.warn({ err: error }, `${what} is unavailable; retrying`);
  };
}
