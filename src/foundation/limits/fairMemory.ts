/** Work that waits for memory. */
interface Waiter {
  readonly bytes: number;
  readonly start: () => void;
}

interface Account {
  /** First come, first served. */
  readonly waiting: Waiter[];
  held: number;
  /** When it last got memory, by the number of that turn. */
  turn: number;
}

/**
 * Divides memory among tenants, whose work waits for it, and may hold it for long: attachments until the carrier has responded,
 * which a tenant's own server may delay. So a tenant may hold as much as all leave free: half for one tenant, a third each for
 * two. And the next is the one that has waited longest for a turn, however much work others have.
 */
export class FairMemory {
  readonly #accounts = new Map<number, Account>();
  #free: number;
  #turns = 0;

  constructor(private readonly max: number) {
    this.#free = max;
  }

  /** Runs the work once there is room. More than all of it counts as all of it. */
  async run<T>(tenantid: number, bytes: number, work: () => Promise<T>): Promise<T> {
    // An account that holds nothing is dropped.
    const reserved = Math.min(Math.max(bytes, 1), this.max);
    const account = this.#accounts.get(tenantid) ?? { waiting: [], held: 0, turn: 0 };
    this.#accounts.set(tenantid, account);
    await new Promise<void>((start) => {
      account.waiting.push({ bytes: reserved, start });
      this.#admit();
    });
    try {
      return await work();
    } finally {
      account.held -= reserved;
      this.#free += reserved;
      if (account.held === 0 && account.waiting.length === 0) this.#accounts.delete(tenantid);
      this.#admit();
    }
  }

  #admit(): void {
    for (;;) {
      const next = this.#next();
      const waiter = next?.waiting[0];
      // Not a smaller one of another tenant either: a large one would never get its turn.
      if (!next || !waiter || waiter.bytes > this.#free) return;
      next.waiting.shift();
      next.held += waiter.bytes;
      next.turn = ++this.#turns;
      this.#free -= waiter.bytes;
      waiter.start();
    }
  }

  #next(): Account | undefined {
    let next: Account | undefined;
    for (const account of this.#accounts.values()) {
      if ((next === undefined || account.turn < next.turn) && this.#mayHold(account)) next = account;
    }
    return next;
  }

  /** Whether its first waiter is within its share. */
  #mayHold({ waiting: [waiter], held }: Account): boolean {
    return waiter !== undefined && (held === 0 || held + waiter.bytes <= this.#free - waiter.bytes);
  }
}
