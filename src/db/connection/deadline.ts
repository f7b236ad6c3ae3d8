import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';

/** Ends what a connection runs. */
export interface Canceler {
  /** A connection to the server that the other one leads to; not open yet. */
  createClientBeside(other: pg.ClientBase): pg.Client;
  requestCancel(other: pg.ClientBase): Promise<void>;
  /** Whether a pooler is between: it gives connections numbers of its own, which are other sessions' in PostgreSQL. */
  readonly isPooled: boolean;
}

/** Time that a transaction has to end after it was canceled. */
const CANCEL_GRACE_MS = 2_000;

/**
 * Ends the transaction that a connection runs when its time is over, by PostgreSQL's own means: the server rolls it back
 * and says so. Transactions that follow each other on the connection have the time each.
 */
export class Deadline {
  readonly #timer: NodeJS.Timeout;
  #isOver = false;
  #canceling: Promise<void> | undefined;
  /** Transactions that have ended. */
  #passed = 0;
  #onPass: (() => void) | undefined;

  constructor(
    private readonly client: pg.ClientBase,
    private readonly canceler: Canceler,
    timeoutMs: number,
  ) {
    this.#timer = setTimeout(() => {
      this.#isOver = true;
      this.#canceling = this.#cancel();
    }, timeoutMs);
  }

  /** Whether a cancellation is under way, or was: it may hit any transaction of the connection. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** A transaction has ended: the next one begins. @returns whether it was in time */
  pass(): boolean {
    this.#ended();
    this.#timer.refresh();
    return !this.#isOver;
  }

  /** @returns whether all were in time. If not, a cancellation may still hit the connection, which is of no more use. */
  async end(): Promise<boolean> {
    clearTimeout(this.#timer);
    this.#ended();
    await this.#canceling;
    return !this.#isOver;
  }

  #ended(): void {
    this.#passed += 1;
    this.#onPass?.();
  }

  async #cancel(): Promise<void> {
    const { connection } = this.client as unknown as Backend;
    const passed = this.#passed;
    try {
      const hasEnded = this.canceler.isPooled
        ? await this.#cancelBehindPooler(passed)
        : await this.#cancelBackend(passed);
      if (!hasEnded) connection.stream.destroy();
    } catch {
      // Nobody can reach the server: the pipeline reports the broken connection.
      connection.stream.destroy();
    }
  }

  /** On a connection of its own: those of the pool may all be waiting for the same thing. */
  async #cancelBackend(passed: number): Promise<boolean> {
    const { processID } = this.client as unknown as Backend;
    const other = this.canceler.createClientBeside(this.client);
    try {
      await other.connect();
      await other.query('select pg_cancel_backend($1)', [processID]);
      if (await this.#endsAfter(passed)) return true;
      // A tenant's code may catch the cancellation and go on.
      await other.query('select pg_terminate_backend($1)', [processID]);
      return false;
    } finally {
      await other.end().catch(() => undefined);
    }
  }

  /** What goes on nevertheless loses its session with the connection: PostgreSQL looks for its client meanwhile. */
  async #cancelBehindPooler(passed: number): Promise<boolean> {
    await this.canceler.requestCancel(this.client);
    return this.#endsAfter(passed);
  }

  async #endsAfter(passed: number): Promise<boolean> {
    const ended = new Promise<void>((resolve) => (this.#onPass = resolve));
    if (this.#passed === passed) await Promise.race([ended, delay(CANCEL_GRACE_MS)]);
    return this.#passed !== passed;
  }
}

interface Backend {
  readonly processID: number;
  readonly connection: { readonly stream: { destroy(): unknown } };
}
