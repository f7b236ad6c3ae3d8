import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';

/** A connection to the server that the other one leads to; not open yet. */
export type CreateClientBeside = (other: pg.ClientBase) => pg.Client;

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
    private readonly createClientBeside: CreateClientBeside,
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

  /** On a connection of its own: those of the pool may all be waiting for the same thing. */
  async #cancel(): Promise<void> {
    const { processID, connection } = this.client as unknown as Backend;
    const passed = this.#passed;
    const other = this.createClientBeside(this.client);
    try {
      await other.connect();
      await other.query('select pg_cancel_backend($1)', [processID]);
      const ended = new Promise<void>((resolve) => (this.#onPass = resolve));
      if (this.#passed === passed) await Promise.race([ended, delay(CANCEL_GRACE_MS)]);
      if (this.#passed !== passed) return;
      // A tenant's code may catch the cancellation and go on.
      await other.query('select pg_terminate_backend($1)', [processID]);
      connection.stream.destroy();
    } catch {
      // Nobody can reach the server: the pipeline reports the broken connection.
      connection.stream.destroy();
    } finally {
      await other.end().catch(() => undefined);
    }
  }
}

interface Backend {
  readonly processID: number;
  readonly connection: { readonly stream: { destroy(): unknown } };
}
