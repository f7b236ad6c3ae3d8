import type { Logger } from '../log.js';
import type { Stoppable } from '../shutdown.js';

export interface Loop extends Stoppable {
  /** Runs the step now, or again when it is running. */
  wake(): void;
}

export interface LoopOptions {
  /** As the log calls it. */
  readonly name: string;
  /** Longest time from one end to the next start. */
  readonly everyMs: number;
  readonly log: Logger;
}

const MIN_BACKOFF_MS = 100;
/**
 * Longest pause after a failure, or a tenth of the loop's period where that is longer: an outage that comes and goes, such
 * as sessions ended every moment, must not keep a step that is wanted often from running for long.
 */
const MAX_BACKOFF_MS = 1_000;

/**
 * Runs a step again and again, one at a time, until stopped. A step that fails is tried again, more and more slowly;
 * an outage is said once when it begins and once when it is over.
 */
export function startLoop(step: () => Promise<void>, { name, everyMs, log }: LoopOptions): Loop {
  let stopped = false;
  let wanted = true;
  let wakeSleeper: (() => void) | undefined;
  let failures = 0;
  const mostBackoffMs = Math.max(MAX_BACKOFF_MS, everyMs / 10);

  const sleep = (ms: number): Promise<void> =>
    new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      wakeSleeper = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  const attempt = async (): Promise<void> => {
    try {
      await step();
      if (failures > 0) log.info({ failures }, `${name}: works again`);
      failures = 0;
    } catch (error) {
      if (failures === 0) log.error({ err: error }, `${name}: failed; trying on`);
      failures += 1;
    }
  };
  const isStopped = (): boolean => stopped;
  const run = async (): Promise<void> => {
    while (!isStopped()) {
      wanted = false;
      await attempt();
      if (isStopped()) return;
      if (failures > 0)
        await sleep(Math.min(MIN_BACKOFF_MS * 2 ** Math.min(failures - 1, 10), mostBackoffMs));
      else if (!isWanted()) await sleep(everyMs);
    }
  };
  const isWanted = (): boolean => wanted;
  const running = run();
  return {
    wake() {
      wanted = true;
      // While it fails, the backoff stands.
      if (failures === 0) wakeSleeper?.();
    },
    async stop() {
      stopped = true;
      wakeSleeper?.();
      await running;
    },
  };
}
