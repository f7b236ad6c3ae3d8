import type { Simulation } from './simulation.js';

/**
 * What costs CPU time. A wake-up is the cost of beginning after having waited, whatever there is to do, and of each
 * statement in PostgreSQL; `idle` is a second of a process, for its timers. `cold` is a tenant whose tables the process has
 * to read first, `strange` one that a session of PostgreSQL has not served before.
 */
export const OPERATIONS = ['idle', 'wake', 'batch', 'email', 'mutation', 'cold', 'strange'] as const;
export type Operation = (typeof OPERATIONS)[number];
export type Amounts = Readonly<Partial<Record<Operation, number>>>;

/** The CPU time of one component, and what it was used for. */
export class Account {
  busyMs = 0;
  readonly done: Record<Operation, number> = {
    idle: 0,
    wake: 0,
    batch: 0,
    email: 0,
    mutation: 0,
    cold: 0,
    strange: 0,
  };

  /** @param costMs of one operation each */
  constructor(readonly costMs: Readonly<Record<Operation, number>>) {}

  /** Notes what is about to be done. @returns the CPU time of it */
  charge(amounts: Amounts): number {
    let ms = 0;
    for (const operation of OPERATIONS) {
      const amount = amounts[operation] ?? 0;
      this.done[operation] += amount;
      ms += amount * this.costMs[operation];
    }
    return ms;
  }
}

interface Task {
  readonly account: Account;
  readonly ms: number;
  readonly then: () => void;
}

/** Cores that run tasks in the order in which they became ready. Tasks are shorter than a scheduler's slice. */
export class Machine {
  #running = 0;
  /** Those that wait for a core; what is before `#next` has begun. */
  #ready: Task[] = [];
  #next = 0;

  constructor(
    private readonly simulation: Simulation,
    readonly cores: number,
    /** What each service time is multiplied by. */
    private readonly spread: () => number,
  ) {}

  run(account: Account, amounts: Amounts, then: () => void): void {
    const task = { account, ms: account.charge(amounts) * this.spread(), then };
    if (this.#running < this.cores) this.#begin(task);
    else this.#ready.push(task);
  }

  #begin(task: Task): void {
    this.#running += 1;
    task.account.busyMs += task.ms;
    this.simulation.after(task.ms, () => {
      this.#running -= 1;
      const next = this.#ready[this.#next];
      if (next) {
        this.#next += 1;
        if (this.#next > 1024 && this.#next * 2 > this.#ready.length) {
          this.#ready = this.#ready.slice(this.#next);
          this.#next = 0;
        }
        this.#begin(next);
      }
      task.then();
    });
  }
}

/** An event loop: it does one thing after the other, and sleeps when there is nothing to do. */
export class Thread {
  #waiting: { readonly amounts: Amounts; readonly then: () => void }[] = [];
  #awakeSinceMs: number | undefined;
  #awakeMs = 0;

  constructor(
    private readonly simulation: Simulation,
    private readonly machine: Machine,
    readonly account: Account,
  ) {}

  /** All time so far in which there was something to do. */
  get awakeMs(): number {
    return (
      this.#awakeMs + (this.#awakeSinceMs === undefined ? 0 : this.simulation.nowMs - this.#awakeSinceMs)
    );
  }

  run(amounts: Amounts, then: () => void): void {
    if (this.#awakeSinceMs !== undefined) {
      this.#waiting.push({ amounts, then });
      return;
    }
    this.#awakeSinceMs = this.simulation.nowMs;
    this.#begin({ ...amounts, wake: 1 }, then);
  }

  #begin(amounts: Amounts, then: () => void): void {
    this.machine.run(this.account, amounts, () => {
      then();
      const next = this.#waiting.shift();
      if (next) {
        this.#begin(next.amounts, next.then);
        return;
      }
      this.#awakeMs = this.awakeMs;
      this.#awakeSinceMs = undefined;
    });
  }
}
