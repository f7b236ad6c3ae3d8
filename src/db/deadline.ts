import pg from 'pg';

/**
 * Ends the transaction that a connection runs when its time is over, by PostgreSQL's own means: the server rolls it back
 * and says so. Transactions that follow each other on the connection have the time each.
 */
export class Deadline {
  readonly #timer: NodeJS.Timeout;
  #canceling: Promise<void> | undefined;

  constructor(
    private readonly client: pg.PoolClient,
    private readonly pool: pg.Pool,
    timeoutMs: number,
  ) {
    this.#timer = setTimeout(() => {
      this.#canceling ??= this.#cancel();
    }, timeoutMs);
  }

  /** Whether a cancellation is under way, or was. */
  get isOver(): boolean {
    return this.#canceling !== undefined;
  }

  /** A transaction has ended: the next one begins. @returns whether it was in time */
  pass(): boolean {
    if (this.isOver) return false;
    this.#timer.refresh();
    return true;
  }

  /** @returns whether all were in time. If not, a cancellation may still hit the connection, which is of no more use. */
  async end(): Promise<boolean> {
    clearTimeout(this.#timer);
    await this.#canceling;
    return !this.isOver;
  }

  /** On a connection of its own: those of the pool may all be waiting for the same thing. */
  async #cancel(): Promise<void> {
    const { processID, connection } = this.client as unknown as Backend;
    const other = new pg.Client(this.pool.options);
    try {
      await other.connect();
      await other.query('select pg_cancel_backend($1)', [processID]);
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
