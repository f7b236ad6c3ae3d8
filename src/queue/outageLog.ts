import type { Logger } from '../log.js';

const QUIET_MS = 30_000;

/** A listener that says once in a while, not with every attempt, that the queue's store does not answer. */
export function logOutages(log: Logger, what: string): (error: Error) => void {
  let quietUntil = 0;
  return (error) => {
    const now = Date.now();
    if (now < quietUntil) return;
    quietUntil = now + QUIET_MS;
    log.warn({ err: error }, `${what}: no answer, or a refusal; trying on`);
  };
}
