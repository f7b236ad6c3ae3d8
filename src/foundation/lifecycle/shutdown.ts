import type { Logger } from '../observability/log.js';

/** Something that drains its work in flight before stopping. */
export interface Stoppable {
  stop(): Promise<void>;
}

/**
 * Ends the process on SIGTERM or SIGINT: stops the parts sequentially in the given order and exits with 0, or with 1 if that
 * takes longer than `graceMs`. A second signal exits immediately.
 */
export function stopOnSignal(parts: readonly Stoppable[], graceMs: number, log: Logger): void {
  let stopping = false;
  const onSignal = (signal: NodeJS.Signals): void => {
    if (stopping) process.exit(1);
    stopping = true;
    log.info({ signal, graceMs }, 'stopping');
    const deadline = setTimeout(() => {
      log.error(
        { graceMs },
        'work in flight did not finish within the grace period; leaving it to the next process',
      );
      process.exit(1);
    }, graceMs);
    deadline.unref();
    const startedAtMs = Date.now();
    stopAll(parts).then(
      () => {
        log.info({ tookMs: Date.now() - startedAtMs }, 'stopped');
        process.exit(0);
      },
      (error: unknown) => {
        log.error({ err: error }, 'stopping failed');
        process.exit(1);
      },
    );
  };
  process.on('SIGTERM', onSignal);
  process.on('SIGINT', onSignal);
}

/** Makes signals end the process immediately while there is nothing to drain, even as PID 1 of a container. @returns a function that undoes that */
export function exitOnSignal(): () => void {
  const onSignal = (): void => process.exit(0);
  process.on('SIGTERM', onSignal);
  process.on('SIGINT', onSignal);
  return () => {
    process.off('SIGTERM', onSignal);
    process.off('SIGINT', onSignal);
  };
}

/** Something that is closed, as a part that is stopped. */
export function stoppable(resource: { close(): Promise<void> }): Stoppable {
  return { stop: () => resource.close() };
}

/** Stops parts sequentially, in the given order. */
export async function stopAll(parts: readonly Stoppable[]): Promise<void> {
  for (const part of parts) await part.stop();
}
