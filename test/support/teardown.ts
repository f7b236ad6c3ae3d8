const steps: (() => Promise<void>)[] = [];

/** Registers what must end with the run. The last registered ends first. */
export function atEndOfRun(step: () => Promise<void>): void {
  steps.push(step);
}

/** Called once by test/setup.ts, after the last test. */
export async function endRun(): Promise<void> {
  for (let step = steps.pop(); step; step = steps.pop()) await step();
}
