/**
 * Interruptible work: each `yield` precedes a chunk that takes at most a few milliseconds of CPU time. The part before the
 * first `yield` is cheap.
 */
export type Steps<T> = Generator<undefined, T, undefined>;

/** Runs all steps without interruption. */
export function complete<T>(steps: Steps<T>): T {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

/** Work that can't be interrupted. */
export function* oneStep<T>(work: () => T): Steps<T> {
  yield;
  return work();
}
