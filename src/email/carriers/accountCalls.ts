import type { LoadedEmail } from './carrier.js';
import type { SendContext, SendOutcome } from './sending.js';

/** An email that waits for a call. */
export interface Waiting<A> {
  readonly email: LoadedEmail;
  readonly context: SendContext<A>;
  /** On the wire. */
  readonly bytes: number;
  /** Whether it may share a call. */
  readonly mayShare: boolean;
}

export interface CallOptions<A> {
  /** Whether emails wait for a call to share while others are under way. */
  readonly isShared: boolean;
  /** Of one call. */
  readonly maxEmails: number;
  readonly maxBytes: number;
  /** Resolves when the carrier's rate limit allows the next call; undefined if it does now. */
  turn(): Promise<void> | undefined;
  /** @returns the outcome of each; undefined for one that is to be sent in a call of its own */
  call(emails: readonly Waiting<A>[]): Promise<readonly (SendOutcome | undefined)[]>;
}

type Entry<A> = Waiting<A> & {
  /** Undefined once it was called. */
  onWait: (() => void) | undefined;
  readonly resolve: (outcome: SendOutcome) => void;
  readonly reject: (error: unknown) => void;
};

/** At once, of an account whose emails share them. */
const MAX_CALLS = 4;
/** Calls for which emails are collected ahead, so that each is full. */
const CALLS_AHEAD = 2;

/**
 * The calls of one account. An email that finds few of them under way has its own, at once; those that come while there are more, or
 * while the rate limit holds the next one back, share it.
 */
export class AccountCalls<A> {
  readonly #waiting: Entry<A>[] = [];
  #calls = 0;
  /** The first response tells whether there is a rate limit. */
  #maxCalls: number;
  #isTurnPending = false;

  constructor(private readonly options: CallOptions<A>) {
    this.#maxCalls = options.isShared ? 1 : Infinity;
  }

  /** @param onWait called if the email has to wait for a call, once it is one of the next calls */
  send(waiting: Waiting<A>, onWait: () => void): Promise<SendOutcome> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ ...waiting, onWait, resolve, reject });
      void this.#next();
      this.#tellNext();
    });
  }

  #tellNext(): void {
    for (const entry of this.#waiting.slice(0, CALLS_AHEAD * this.options.maxEmails)) {
      entry.onWait?.();
      entry.onWait = undefined;
    }
  }

  async #next(): Promise<void> {
    if (this.#isTurnPending || this.#calls >= this.#maxCalls || this.#waiting.length === 0) return;
    const turn = this.options.turn();
    if (turn) {
      this.#isTurnPending = true;
      await turn;
      this.#isTurnPending = false;
    }
    this.#calls += 1;
    const call = this.#call(this.#take());
    this.#tellNext();
    void this.#next();
    await call;
    this.#maxCalls = Math.max(this.#maxCalls, MAX_CALLS);
    this.#calls -= 1;
    void this.#next();
  }

  /** Those that have waited longest, as many as fit into one call. */
  #take(): readonly Entry<A>[] {
    const { maxEmails, maxBytes } = this.options;
    let bytes = 0;
    const end = this.#waiting.findIndex((entry, index) => {
      bytes += entry.bytes;
      return index > 0 && (index === maxEmails || bytes > maxBytes || !entry.mayShare);
    });
    const isAlone = this.#waiting[0]?.mayShare === false;
    return this.#waiting.splice(0, isAlone ? 1 : end < 0 ? this.#waiting.length : end);
  }

  async #call(entries: readonly Entry<A>[]): Promise<void> {
    try {
      const outcomes = await this.options.call(entries);
      entries.forEach((entry, index) => {
        const outcome = outcomes[index];
        if (outcome) entry.resolve(outcome);
        else this.#waiting.unshift({ ...entry, mayShare: false });
      });
    } catch (error) {
      for (const { reject } of entries) reject(error);
    }
  }
}
