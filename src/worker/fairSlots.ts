/** Most slots that one tenant may hold. */
export interface TenantShare {
  /** While nobody else has work: room is left for the first one who comes. */
  readonly alone: number;
  /** While others have work, and for a while after. */
  besideOthers(): number;
}

interface Arrival {
  readonly tenantid: number | undefined;
  readonly atMs: number;
}

const NOBODY: Arrival = { tenantid: undefined, atMs: -Infinity };

/** So long after its last work came a tenant is counted as having some. */
const ACTIVE_MS = 1_000;
/** How often it is looked whether somebody may be let in, while slots are free. */
const LOOK_MS = 100;

/**
 * Slots for work in hand. Who waits is let in by turns of tenants, and one tenant never holds more than its share: a
 * tenant whose provider hangs, or who has thousands waiting, leaves the others room.
 */
export class FairSlots {
  /** Of each tenant that waits: what lets its next one in. Tenants are in the order of their turns. */
  readonly #waiting = new Map<number, ((isIn: boolean) => void)[]>();
  readonly #held = new Map<number, number>();
  /** Who came last, and who of all others came last: between two mails of theirs, tenants have work as well. */
  #latest: Arrival = NOBODY;
  #latestOther: Arrival = NOBODY;
  #free: number;
  #closed = false;
  #look: NodeJS.Timeout | undefined;

  constructor(
    slots: number,
    private readonly share: TenantShare,
  ) {
    this.#free = slots;
  }

  /** Runs the work when it is its turn; if the slots are closed before that, never. @returns what the work does */
  async run<T>(tenantid: number, work: () => Promise<T>): Promise<T | undefined> {
    if (this.#closed) return undefined;
    this.#noteArrival(tenantid);
    const isIn = await new Promise<boolean>((resolve) => {
      const waiting = this.#waiting.get(tenantid);
      if (waiting) waiting.push(resolve);
      else this.#waiting.set(tenantid, [resolve]);
      this.#letIn();
    });
    if (!isIn) return undefined;
    try {
      return await work();
    } finally {
      const held = (this.#held.get(tenantid) ?? 1) - 1;
      if (held === 0) this.#held.delete(tenantid);
      else this.#held.set(tenantid, held);
      this.#free += 1;
      this.#letIn();
    }
  }

  /** Lets nobody in any more. */
  close(): void {
    this.#closed = true;
    clearTimeout(this.#look);
    const dropped = [...this.#waiting.values()].flat();
    this.#waiting.clear();
    for (const letIn of dropped) letIn(false);
  }

  #noteArrival(tenantid: number): void {
    if (tenantid !== this.#latest.tenantid) this.#latestOther = this.#latest;
    this.#latest = { tenantid, atMs: performance.now() };
  }

  #shareOf(tenantid: number, nowMs: number): number {
    const other = tenantid === this.#latest.tenantid ? this.#latestOther : this.#latest;
    const othersHaveWork =
      nowMs - other.atMs < ACTIVE_MS ||
      holdsOthers(this.#held, tenantid) ||
      holdsOthers(this.#waiting, tenantid);
    return othersHaveWork ? this.share.besideOthers() : this.share.alone;
  }

  #letIn(): void {
    const nowMs = performance.now();
    for (const [tenantid, waiting] of this.#waiting) {
      if (this.#free === 0) return;
      const held = this.#held.get(tenantid) ?? 0;
      if (held >= this.#shareOf(tenantid, nowMs)) continue;
      const next = waiting.shift();
      // Its turn is over: to the end of the line, if more of it waits.
      this.#waiting.delete(tenantid);
      if (waiting.length > 0) this.#waiting.set(tenantid, waiting);
      this.#held.set(tenantid, held + 1);
      this.#free -= 1;
      next?.(true);
    }
    if (this.#free > 0 && this.#waiting.size > 0) this.#lookAgain();
  }

  /** Shares grow as time goes by, and what is in hand may hang. */
  #lookAgain(): void {
    this.#look ??= setTimeout(() => {
      this.#look = undefined;
      this.#letIn();
    }, LOOK_MS).unref();
  }
}

function holdsOthers(tenants: ReadonlyMap<number, unknown>, tenantid: number): boolean {
  return tenants.size > (tenants.has(tenantid) ? 1 : 0);
}
