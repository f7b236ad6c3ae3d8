const NONE = -1;

/**
 * Memory shared by a thread and its pool, because a busy thread can't process messages: which task of its group is running
 * and since when, and at which task to stop.
 */
export class ThreadProgress {
  /** Index of the running task, then the index to stop at. */
  readonly #indexes: Int32Array;
  readonly #since: Float64Array;

  constructor(readonly memory = new SharedArrayBuffer(2 * Float64Array.BYTES_PER_ELEMENT)) {
    this.#indexes = new Int32Array(memory, 0, 2);
    this.#since = new Float64Array(memory, 2 * Int32Array.BYTES_PER_ELEMENT, 1);
  }

  /** Called by the pool before it posts a group. */
  reset(tasks: number): void {
    Atomics.store(this.#indexes, 0, NONE);
    Atomics.store(this.#indexes, 1, tasks);
  }

  /** Called by the pool: the thread must not begin this task or any later one, though it may just have done so. */
  stopAt(index: number): void {
    Atomics.store(this.#indexes, 1, index);
  }

  /** Called by the thread before each task. @returns whether to begin it */
  begin(index: number): boolean {
    if (index >= Atomics.load(this.#indexes, 1)) return false;
    // The time is written first, so that a reader of the index sees its time or a later one.
    this.#since[0] = nowMs();
    Atomics.store(this.#indexes, 0, index);
    return true;
  }

  /** The running task, or the last one; undefined before the first. */
  get task(): { readonly index: number; readonly sinceMs: number } | undefined {
    const index = Atomics.load(this.#indexes, 0);
    return index === NONE ? undefined : { index, sinceMs: this.#since[0] ?? 0 };
  }
}

/** Milliseconds on a monotonic clock shared by all threads of the process. */
export function nowMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}
