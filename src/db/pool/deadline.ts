import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';
import { backendOf, breakConnection } from '../wire/index.js';

/** Cancels what a connection runs. */
export interface Canceler {
  /** Creates a connection to the same server as `other`; not opened yet. */
  createClientBeside(other: pg.ClientBase): pg.Client;
  requestCancel(other: pg.ClientBase): Promise<void>;
  /** Whether connections go through a pooler: it assigns its own backend ids, which belong to other sessions in PostgreSQL. */
  readonly isPooled: boolean;
}

/** How long a transaction may take to end after it was canceled. */
const CANCEL_GRACE_MS = 2_000;

/** How often to check whether a terminated session has ended: the interval doubles. */
const MIN_POLL_MS = 20;
const MAX_POLL_MS = 10_000;

/**
 * Cancels the transaction on a connection when its time is up, with PostgreSQL's own means: the server rolls it back and
 * reports that. Successive transactions on the connection each have the full time.
 */
export class Deadline {
  readonly #timer: NodeJS.Timeout;
  #isOver = false;
  #canceling: Promise<void> | undefined;
  #gone: Promise<void> | undefined;
  /** Number of transactions that have ended. */
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

  /** Whether a cancellation was sent; it may hit any transaction of the connection. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /**
   * When the session ends, if it was terminated. PostgreSQL doesn't end it while it computes certain functions, such as
   * `strpos`. Unknown behind a pooler. Ask after `end`.
   */
  get gone(): Promise<void> | undefined {
    return this.#gone;
  }

  /** Call when a transaction has ended; the next one's time starts. @returns whether it ended in time */
  pass(): boolean {
    this.#ended();
    this.#timer.refresh();
    return !this.#isOver;
  }

  /** @returns whether all ended in time. If not, a cancellation may still hit the connection, which must be discarded. */
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
    const passed = this.#passed;
    try {
      const hasEnded = this.canceler.isPooled
        ? await this.#cancelBehindPooler(passed)
        : await this.#cancelBackend(passed);
      if (!hasEnded) breakConnection(this.client);
    } catch {
      // The server is unreachable; the pipeline reports the broken connection.
      breakConnection(this.client);
    }
  }

  /** Uses a dedicated connection: those of the pool may all be waiting for the same lock. */
  async #cancelBackend(passed: number): Promise<boolean> {
    const { processID } = backendOf(this.client);
    const other = this.canceler.createClientBeside(this.client);
    try {
      await other.connect();
      await other.query('select pg_cancel_backend($1)', [processID]);
      if (await this.#endsAfter(passed)) return true;
      // Tenant code may catch the cancellation and continue.
      const { rows } = await other.query<{ start: string }>(
        `select backend_start::text as start, pg_terminate_backend(pid) from pg_catalog.pg_stat_activity where pid = $1`,
        [processID],
      );
      if (rows[0]) this.#gone = this.#endOf(processID, rows[0].start);
      return false;
    } finally {
      await other.end().catch(() => undefined);
    }
  }

  /** Process ids are used again, so a session is identified by its start as well. */
  async #endOf(processID: number, start: string): Promise<void> {
    for (let pauseMs = MIN_POLL_MS; ; pauseMs = Math.min(2 * pauseMs, MAX_POLL_MS)) {
      await delay(pauseMs, undefined, { ref: false });
      const other = this.canceler.createClientBeside(this.client);
      // Its statements reject as well.
      other.on('error', () => undefined);
      try {
        await other.connect();
        const { rowCount } = await other.query(
          'select from pg_catalog.pg_stat_activity where pid = $1 and backend_start::text = $2',
          [processID, start],
        );
        if (rowCount === 0) return;
      } catch {
        // The server is unreachable, or has no room: it is asked again.
      } finally {
        await other.end().catch(() => undefined);
      }
    }
  }

  /** A statement that continues regardless loses its session when the connection closes: PostgreSQL checks for its client. */
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
