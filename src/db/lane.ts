import type pg from 'pg';
import type { Lease } from './connection/connectionPool.js';
import { Deadline } from './deadline.js';
import { inOneWrite } from './oneWrite.js';

/** A transaction for a lane. */
export interface LaneWork {
  /** Sends it at once; must not throw. @returns whether the connection is known to be as it was */
  run(lease: Lease, deadline: Deadline): Promise<boolean>;
  /** No connection could be had. */
  fail(error: unknown): void;
}

/** Where the connection comes from. */
export interface ConnectionSource {
  acquire(): Promise<Lease>;
  /** Whether somebody waits for a connection. */
  readonly isBusy: boolean;
  /** Of connections that end what another one runs. */
  readonly connection: pg.ClientConfig;
}

/** After so many the connection goes back, so that others of the pool's users have their turn. */
const MOST_WORK = 100;

/** A lane that may be used again waits so long for it: to take a connection and give it back costs 20 µs. */
const IDLE_MS = 2;

/** A connection of the pool on which transactions follow each other. It goes back when none is left. */
export class Lane {
  readonly #waiting: LaneWork[] = [];
  #connection: { readonly lease: Lease; readonly deadline: Deadline } | undefined;
  #load = 0;
  #taken = 0;
  #isSound = true;
  #idle: NodeJS.Timeout | undefined;

  constructor(
    private readonly source: ConnectionSource,
    /** For each transaction, from its turn on. */
    private readonly timeoutMs: number,
    /** Told that the lane is no more. Given where others know of it, and may use it again. */
    private readonly onEnd?: (lane: Lane) => void,
  ) {}

  /** Transactions that are not answered yet. */
  get load(): number {
    return this.#load;
  }

  /** Whether it takes more. It doesn't after an error of the connection, a cancellation, or its share of work. */
  get isOpen(): boolean {
    return this.#taken < MOST_WORK && this.#isSound && this.#connection?.deadline.isOver !== true;
  }

  /** They leave in one write. */
  add(work: readonly LaneWork[]): void {
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
      // The pipeline reports a broken connection; without a listener the event would end the process.
      lease.client.on('error', alreadyReported);
      const deadline = new Deadline(lease.client, this.source.connection, this.timeoutMs);
      this.#connection = { lease, deadline };
    } catch (error) {
      this.onEnd?.(this);
      for (const work of this.#waiting) work.fail(error);
      return;
    }
    this.#start(this.#waiting.splice(0));
  }

  #start(work: readonly LaneWork[]): void {
    const { lease, deadline } = this.#connection ?? {};
    if (!lease || !deadline) throw new Error('the lane has no connection');
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
    lease.client.removeListener('error', alreadyReported);
    lease.release(!inTime || !this.#isSound);
  }
}

function alreadyReported(): void {
  // nothing left to say
}
