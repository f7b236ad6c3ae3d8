import { Heap } from './heap.js';

interface Event {
  readonly atMs: number;
  /** Of two at the same time the one that was planned first comes first. */
  readonly turn: number;
  readonly happen: () => void;
}

/** A clock that jumps from one event to the next. */
export class Simulation {
  #nowMs = 0;
  #turn = 0;
  readonly #events = new Heap<Event>((one, other) =>
    one.atMs === other.atMs ? one.turn < other.turn : one.atMs < other.atMs,
  );

  get nowMs(): number {
    return this.#nowMs;
  }

  after(ms: number, happen: () => void): void {
    this.#events.push({ atMs: this.#nowMs + ms, turn: this.#turn++, happen });
  }

  /** Lets events happen until the condition holds or the time is over. @returns whether the condition holds */
  runUntil(isOver: () => boolean, latestMs: number): boolean {
    while (!isOver()) {
      const next = this.#events.peek();
      if (!next || next.atMs > latestMs) {
        this.#nowMs = Math.max(this.#nowMs, latestMs);
        return isOver();
      }
      this.#events.pop();
      this.#nowMs = next.atMs;
      next.happen();
    }
    return true;
  }

  runFor(ms: number): void {
    this.runUntil(() => false, this.#nowMs + ms);
  }
}
