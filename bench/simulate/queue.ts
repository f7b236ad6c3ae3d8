import { Heap } from './heap.js';
import type { Job } from './email.js';

/** Jobs by priority, then in the order of adding; workers that wait for one are woken in turn. */
export class Queue {
  #turn = 0;
  readonly #jobs = new Heap<Job & { readonly turn: number }>((one, other) =>
    one.priority === other.priority ? one.turn < other.turn : one.priority < other.priority,
  );
  #idle: (() => void)[] = [];

  get size(): number {
    return this.#jobs.size;
  }

  add(job: Job): void {
    this.#jobs.push({ ...job, turn: this.#turn++ });
    this.#idle.shift()?.();
  }

  take(): Job | undefined {
    return this.#jobs.pop();
  }

  /** @param wake called once, when there is a job */
  wait(wake: () => void): void {
    this.#idle.push(wake);
  }
}
