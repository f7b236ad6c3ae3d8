import { AsyncLocalStorage } from 'node:async_hooks';
import type pg from 'pg';
import { waitFor } from '../../support/waitFor.js';

type Query = (...args: unknown[]) => unknown;

/** One of two operations. It stops before one of its statements until it is resumed. */
class Operation {
  readonly stopped: Promise<void>;
  #stop: () => void = () => undefined;
  #resume: () => void = () => undefined;
  readonly #resumed: Promise<void>;
  #statements = 0;

  constructor(private readonly stopsBefore: number) {
    this.stopped = new Promise((resolve) => (this.#stop = resolve));
    this.#resumed = new Promise((resolve) => (this.#resume = resolve));
  }

  /** Called before each statement. */
  mayGo(): Promise<void> | undefined {
    if (++this.#statements !== this.stopsBefore) return undefined;
    this.#stop();
    return this.#resumed;
  }

  resume(): void {
    this.#resume();
  }
}

/** Runs two operations so that the second overtakes the first between two of its statements. */
export class Interleaving {
  readonly #current = new AsyncLocalStorage<Operation>();
  readonly #known = new WeakSet<object>();

  /** @param pool of the operations' statements @param observer another one */
  constructor(
    pool: pg.Pool,
    private readonly observer: pg.Pool,
  ) {
    pool.on('acquire', (client) => this.#intercept(client as unknown as { query: Query }));
  }

  #intercept(client: { query: Query }): void {
    if (this.#known.has(client)) return;
    this.#known.add(client);
    const query = client.query.bind(client);
    client.query = (...args) => {
      const limiter = this.#current.getStore()?.mayGo();
      return limiter ? limiter.then(() => query(...args)) : query(...args);
    };
  }

  /**
   * Stops `first` before its statement of this number, runs `second` until it ends or waits for a lock, then both to their ends.
   * @returns undefined if `first` has fewer statements
   */
  async run<T>(
    first: () => Promise<T>,
    second: () => Promise<T>,
    statement: number,
  ): Promise<readonly [T, T] | undefined> {
    const operation = new Operation(statement);
    const running = this.#current.run(operation, first);
    const isStopped = await Promise.race([operation.stopped.then(() => true), running.then(() => false)]);
    if (!isStopped) return undefined;
    let isOver = false;
    const other = second().finally(() => (isOver = true));
    await waitFor('the second to end or to wait', async () => isOver || (await this.#isWaiting()), {
      intervalMs: 2,
    });
    operation.resume();
    return Promise.all([running, other]);
  }

  async #isWaiting(): Promise<boolean> {
    const { rows } = await this.observer.query(
      "select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()",
    );
    return rows.length > 0;
  }
}
