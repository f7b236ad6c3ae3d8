import type { Lease } from './connectionPool.js';
import { Deadline, type Canceler } from './deadline.js';
import { inOneWrite } from '../wire/index.js';

/** A transaction that can be sent on a pipelined connection. */
export interface PipelinedTransaction {
  /** Sends it immediately; must not throw. @returns whether the connection is still in a known state */
  run(lease: Lease, deadline: Deadline): Promise<boolean>;
  /** Called if no connection could be acquired. */
  fail(error: unknown): void;
}

/** Where the connection comes from. */
export interface ConnectionSource {
  acquire(): Promise<Lease>;
  /** Whether a request waits for a connection. */
  readonly isBusy: boolean;
  readonly canceler: Canceler;
}

/** The connection returns to the pool after this many transactions, so that other waiters get it. */
const MAX_TRANSACTIONS = 25;

/** How long an idle connection is kept for another transaction: acquiring and releasing one costs 20 µs. */
const IDLE_MS = 2;

/**
 * A leased connection on which transactions are pipelined: each is sent without waiting for the results of earlier ones.
 * The lease ends when none is in flight.
 */
export class PipelinedConnection {
  readonly #waiting: PipelinedTransaction[] = [];
  #connection: { readonly lease: Lease; readonly deadline: Deadline } | undefined;
  #load = 0;
  #taken = 0;
  #isSound = true;
  #idle: NodeJS.Timeout | undefined;

  constructor(
    private readonly source: ConnectionSource,
    /** Maximum duration of each transaction, from the end of the previous one. */
    private readonly timeoutMs: number,
    /** Called when the lease ends. Without it, the connection is not kept for later transactions. */
    private readonly onEnd?: (connection: PipelinedConnection) => void,
  ) {}

  /** Transactions in flight. */
  get load(): number {
    return this.#load;
  }

  /** Whether it accepts more transactions: not after a connection error, a cancellation, or `MAX_TRANSACTIONS`. */
  get isOpen(): boolean {
    return this.#taken < MAX_TRANSACTIONS && this.#isSound && this.#connection?.deadline.isOver !== true;
  }

  /** Sends the transactions in one write. */
  add(work: readonly PipelinedTransaction[]): void {
    const isNew = this.#taken === 0;
    clearTimeout(this.#idle);
    this.#load += work.length;
    this.#taken += work.length;
    if (this.#connection) {
      this.#start(work);
      return;
    }
    this.#waiting.push(...work);
    if (isNew) void this.#open();
  }

  async #open(): Promise<void> {
    try {
      const lease = await this.source.acquire();
      const deadline = new Deadline(lease.client, this.source.canceler, this.timeoutMs);
      this.#connection = { lease, deadline };
    } catch (error) {
      this.onEnd?.(this);
      for (const work of this.#waiting) work.fail(error);
      return;
    }
    this.#start(this.#waiting.splice(0));
  }

  #start(work: readonly PipelinedTransaction[]): void {
    const { lease, deadline } = this.#connection ?? {};
    if (!lease || !deadline) throw new Error('no connection has been acquired');
    inOneWrite(lease.client, () => {
      for (const item of work) void item.run(lease, deadline).then((isSound) => this.#ended(isSound));
    });
  }

  #ended(isSound: boolean): void {
    this.#isSound &&= isSound;
    this.#load -= 1;
    if (this.#load > 0) return;
    const isWanted = this.source.isBusy;
    if (this.onEnd && this.isOpen && !isWanted) this.#idle = setTimeout(() => void this.#close(), IDLE_MS);
    else void this.#close();
  }

  async #close(): Promise<void> {
    this.onEnd?.(this);
    const { lease, deadline } = this.#connection ?? {};
    if (!lease || !deadline) return;
    const inTime = await deadline.end();
    lease.release(!inTime || !this.#isSound, deadline.gone);
  }
}
