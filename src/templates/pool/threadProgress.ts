const NONE = -1;

/**
 * What a thread and its pool tell each other while the thread is busy and messages can't pass: which task of its group
 * the thread is at and since when, and where in the group it shall stop.
 */
export class ThreadProgress {
  /** Index of the task in hand, then the index to stop at. */
  readonly #indexes: Int32Array;
  readonly #since: Float64Array;

  constructor(readonly memory = new SharedArrayBuffer(2 * Float64Array.BYTES_PER_ELEMENT)) {
    this.#indexes = new Int32Array(memory, 0, 2);
    this.#since = new Float64Array(memory, 2 * Int32Array.BYTES_PER_ELEMENT, 1);
  }

  /** The pool, before it posts a group of so many tasks. */
  reset(tasks: number): void {
    Atomics.store(this.#indexes, 0, NONE);
    Atomics.store(this.#indexes, 1, tasks);
  }

  /** The pool: the thread shall begin no task from this one on. It may just have done so. */
  stopAt(index: number): void {
    Atomics.store(this.#indexes, 1, index);
  }

  /** The thread, before each task. @returns whether it may begin it */
  begin(index: number): boolean {
    if (index >= Atomics.load(this.#indexes, 1)) return false;
    // The time first: who reads the index reads its time, or a later one.
    this.#since[0] = nowMs();
    Atomics.store(this.#indexes, 0, index);
    return true;
  }

  /** The task in hand, or the last one; undefined before the first. */
  get task(): { readonly index: number; readonly sinceMs: number } | undefined {
    const index = Atomics.load(this.#indexes, 0);
    return index === NONE ? undefined : { index, sinceMs: this.#since[0] ?? 0 };
  }
}

/** Milliseconds by a clock that all threads of the process share and nobody sets. */
export function nowMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}
