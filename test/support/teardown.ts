import { setTimeout as delay } from 'node:timers/promises';

const steps: (() => Promise<void>)[] = [];
/** A connection that a failed test never gave back would otherwise keep the run from ending. */
const STEP_TIMEOUT_MS = 15_000;

/** Registers what must end with the run. The last registered ends first. */
export function atEndOfRun(step: () => Promise<void>): void {
  steps.push(step);
}

/** Called once by test/setup.ts, after the last test. */
export async function endRun(): Promise<void> {
  for (let step = steps.pop(); step; step = steps.pop()) {
    const ended = step().then(() => true);
    const timeout = delay(STEP_TIMEOUT_MS, false, { ref: false });
    if (!(await Promise.race([ended, timeout])))
      console.error(`a step of the teardown took over ${STEP_TIMEOUT_MS} ms`);
  }
}
