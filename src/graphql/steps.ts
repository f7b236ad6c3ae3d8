/**
 * Work that may be interrupted: each `yield` stands before a piece of it that costs CPU time, a few milliseconds at most.
 * What comes before the first is cheap.
 */
export type Steps<T> = Generator<undefined, T, undefined>;

/** Does all of it at once. */
export function complete<T>(steps: Steps<T>): T {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}
