import type { Logger } from './log.js';

/** Logs the beginning and the end of an outage of a dependency, and each new reason, instead of each failure. */
export interface Outage {
  failed(error: unknown): void;
  recovered(): void;
}

/** More would be messages that differ each time. */
const MAX_REASONS = 5;

/** @param what begins the message: `PostgreSQL`, `the queue` */
export function startOutage(log: Logger, what: string): Outage {
  let sinceMs: number | undefined;
  const reasons = new Set<string>();
  return {
    failed(error) {
      const reason = error instanceof Error ? error.message : String(error);
      const isNew = reasons.size < MAX_REASONS && !reasons.has(reason);
      if (isNew) reasons.add(reason);
      if (sinceMs === undefined) log.error({ err: error }, `${what} is not responding`);
      else if (isNew) log.error({ err: error }, `${what} is still not responding`);
      sinceMs ??= performance.now();
    },
    recovered() {
      if (sinceMs === undefined) return;
      log.info({ seconds: Math.round((performance.now() - sinceMs) / 1000) }, `${what} has recovered`);
      sinceMs = undefined;
      reasons.clear();
    },
  };
}
