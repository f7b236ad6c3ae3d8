import type { Lease } from './connectionPool.js';
import { Deadline, type Canceler } from './deadline.js';
import { inOneWrite } from './oneWrite.js';

/** A transaction that can be sent on a pipelined connection. */
export interface PipelinedTransaction {
  /** Sends it at once; must not throw. @returns whether the connection is known to be as it was */
  run(lease: Lease, deadline: Deadline): Promise<boolean>;
  /** No connection could be had. */
  fail(error: unknown): void;
}

/** Where the connection comes from. */
export interface ConnectionSource {
  acquire(): Promise<Lease>;
  /** Whether a request waits for a connection. */
  readonly isBusy: boolean;
  readonly canceler: Canceler;
}

/** Transactions after which the connection goes back to the pool, so that other waiters get it. */
const MAX_TRANSACTIONS = 100;

/** How long an idle connection is kept for a next transaction: acquiring and releasing one costs 20 µs. */
const IDLE_MS = 2;

/**
 * A leased connection on which transactions are pipelined: each is sent without waiting for the answers to those before
 * it. The lease ends when none is in flight.
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
    /** Of each transaction, from when the one before it has ended. */
    private readonly timeoutMs: number,
    /** Called when the lease ends. Only a connection with this callback is kept for later transactions. */
    private readonly onEnd?: (connection: PipelinedConnection) => void,
  ) {}

  /** Transactions in flight. */
  get load(): number {
    return this.#load;
  }

  /** Whether it takes more transactions: not after an error of the connection, a cancellation, or `MAX_TRANSACTIONS`. */
  get isOpen(): boolean {
    return this.#taken < MAX_TRANSACTIONS && this.#isSound && this.#connection?.deadline.isOver !== true;
  }

  /** They leave in one write. */
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
    lease.release(!inTime || !this.#isSound);
  }
}
