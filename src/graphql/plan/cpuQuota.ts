/** A user's remaining CPU time, and when it was computed. */
interface Balance {
  leftMs: number;
  atMs: number;
}

/** Beyond this, full buckets are dropped: those idle for a second. */
const MAX_BALANCES = 10_000;

/**
 * Token buckets of CPU time: each user gains `msPerSecond`, and may accumulate one second's worth. Usage is only known
 * afterwards, so a balance may be negative for a while.
 */
export class CpuQuota {
  readonly #balances = new Map<string, Balance>();

  constructor(private readonly msPerSecond: number) {}

  /** @returns how long the user must wait; 0 if there is quota left */
  waitMs(user: string, nowMs: number): number {
    const { leftMs } = this.#at(user, nowMs);
    return leftMs > 0 ? 0 : ((1 - leftMs) / this.msPerSecond) * 1000;
  }

  use(user: string, ms: number, nowMs: number): void {
    this.#at(user, nowMs).leftMs -= ms;
  }

  /** Forgives usage beyond the quota. */
  settle(user: string, nowMs: number): void {
    const balance = this.#at(user, nowMs);
    balance.leftMs = Math.max(balance.leftMs, 0);
  }

  #at(user: string, nowMs: number): Balance {
    let balance = this.#balances.get(user);
    if (balance) {
      const gained = ((nowMs - balance.atMs) / 1000) * this.msPerSecond;
      balance.leftMs = Math.min(this.msPerSecond, balance.leftMs + gained);
      balance.atMs = nowMs;
      return balance;
    }
    if (this.#balances.size >= MAX_BALANCES) this.#forgetIdle(nowMs);
    balance = { leftMs: this.msPerSecond, atMs: nowMs };
    this.#balances.set(user, balance);
    return balance;
  }

  #forgetIdle(nowMs: number): void {
    for (const user of this.#balances.keys()) {
      if (this.#at(user, nowMs).leftMs >= this.msPerSecond) this.#balances.delete(user);
    }
  }
}
