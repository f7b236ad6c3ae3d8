import type { Stoppable } from './shutdown.js';

/** Polls at intervals, never concurrently, without keeping the process alive. Stopping waits for a poll under way; none may reject. */
export function pollEvery(intervalMs: number, poll: () => Promise<void>): Stoppable {
  let polling: Promise<void> | undefined;
  const timer = setInterval(() => {
    polling ??= poll().finally(() => (polling = undefined));
  }, intervalMs).unref();
  return {
    async stop() {
      clearInterval(timer);
      await polling;
    },
  };
}
