import type { Simulation } from './simulation.js';

/** Connections of a process to PostgreSQL, handed out in the order of asking. */
export class Connections {
  #free: number;
  #waiting: ((release: () => void) => void)[] = [];

  constructor(readonly max: number) {
    this.#free = max;
  }

  acquire(use: (release: () => void) => void): void {
    if (this.#free === 0) {
      this.#waiting.push(use);
      return;
    }
    this.#free -= 1;
    use(() => this.#release());
  }

  #release(): void {
    this.#free += 1;
    const next = this.#waiting.shift();
    if (next) this.acquire(next);
  }
}

/** One statement for all that ask while the one before runs, as `src/foundation/limits/batchCalls.ts`. */
export class BatchedCall {
  #waiting: (() => void)[] = [];
  #isRunning = false;

  constructor(
    private readonly max: number,
    private readonly run: (requests: number, then: () => void) => void,
  ) {}

  ask(then: () => void): void {
    this.#waiting.push(then);
    if (!this.#isRunning) this.#runNext();
  }

  #runNext(): void {
    const group = this.#waiting.slice(0, this.max);
    this.#waiting = this.#waiting.slice(this.max);
    this.#isRunning = group.length > 0;
    if (!this.#isRunning) return;
    this.run(group.length, () => {
      for (const then of group) then();
      this.#runNext();
    });
  }
}

/** The disk of the write-ahead log: commits that come while it writes are written together, next. */
export class Disk {
  #waiting: (() => void)[] = [];
  #isWriting = false;
  writes = 0;

  constructor(
    private readonly simulation: Simulation,
    private readonly drawMs: () => number,
  ) {}

  flush(then: () => void): void {
    this.#waiting.push(then);
    if (!this.#isWriting) this.#write();
  }

  #write(): void {
    const group = this.#waiting;
    this.#waiting = [];
    this.#isWriting = group.length > 0;
    if (!this.#isWriting) return;
    this.writes += 1;
    this.simulation.after(this.drawMs(), () => {
      for (const then of group) then();
      this.#write();
    });
  }
}
