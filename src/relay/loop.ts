import type { Logger } from '../foundation/observability/log.js';
import { relayFailures } from '../foundation/observability/metrics.js';
import type { Stoppable } from '../foundation/lifecycle/shutdown.js';

export interface Loop extends Stoppable {
  /** Runs the step now, or once more if it is running. */
  wake(): void;
}

export interface LoopOptions {
  /** Used in log messages. */
  readonly name: string;
  /** Maximum time from the end of one run to the start of the next. */
  readonly everyMs: number;
  readonly log: Logger;
}

const MIN_BACKOFF_MS = 100;
/**
 * Maximum backoff, or a tenth of the loop's period if longer: an intermittent outage, such as sessions that keep being
 * terminated, must not delay a frequent step for long.
 */
const MAX_BACKOFF_MS = 1_000;

/**
 * Runs a step repeatedly, never concurrently, until stopped. Failures are retried with exponential backoff; an outage is
 * logged once when it begins and once when it ends.
 */
export function startLoop(step: () => Promise<void>, { name, everyMs, log }: LoopOptions): Loop {
  let stopped = false;
  let wanted = true;
  let wakeSleeper: (() => void) | undefined;
  let failures = 0;
  // Prometheus sees no increase in a series that begins with one.
  relayFailures.inc({ step: name }, 0);
  const maxBackoffMs = Math.max(MAX_BACKOFF_MS, everyMs / 10);

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
      if (failures > 0) log.info({ failures }, `${name} has recovered`);
      failures = 0;
    } catch (error) {
      if (failures === 0) log.error({ err: error }, `${name} failed; retrying`);
      failures += 1;
      relayFailures.inc({ step: name });
    }
  };
  // TypeScript assumes that these variables don't change while the function awaits.
  const isStopped = (): boolean => stopped;
  const isWanted = (): boolean => wanted;
  const run = async (): Promise<void> => {
    while (!isStopped()) {
      wanted = false;
      await attempt();
      if (isStopped()) return;
      if (failures > 0) await sleep(Math.min(MIN_BACKOFF_MS * 2 ** Math.min(failures - 1, 10), maxBackoffMs));
      else if (!isWanted()) await sleep(everyMs);
    }
  };
  const running = run();
  return {
    wake() {
      wanted = true;
      // A wake-up does not cut the backoff short.
      if (failures === 0) wakeSleeper?.();
    },
    async stop() {
      stopped = true;
      wakeSleeper?.();
      await running;
    },
  };
}
