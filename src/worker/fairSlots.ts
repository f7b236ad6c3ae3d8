/** Maximum slots that one tenant may hold. */
export interface TenantQuota {
  /** While no other tenant has work; less than all, so that slots are left for the next one. */
  readonly alone: number;
  /** While other tenants have work, or had until recently. */
  contended(): number;
}

interface Arrival {
  readonly tenantid: number | undefined;
  readonly atMs: number;
}

const NO_ARRIVAL: Arrival = { tenantid: undefined, atMs: -Infinity };

/** How long after its last arrival a tenant counts as having work. */
const ACTIVE_MS = 1_000;
/** Poll interval for admitting waiters while slots are free. */
const ADMIT_POLL_MS = 100;

/**
 * Slots for work in flight. Waiters are admitted round-robin by tenant, and no tenant holds more slots than its quota, or than
 * are free: tenants whose carriers are not responding, or that have thousands waiting, leave slots for others.
 */
export class FairSlots {
  /** Waiters per tenant. The map's order is the round-robin order. */
  readonly #waiting = new Map<number, ((admitted: boolean) => void)[]>();
  readonly #held = new Map<number, number>();
  /** The latest arrival, and the latest of any other tenant: tenants still count as active between two emails. */
  #latest: Arrival = NO_ARRIVAL;
  #latestOther: Arrival = NO_ARRIVAL;
  #free: number;
  #closed = false;
  #pollTimer: NodeJS.Timeout | undefined;

  constructor(
    slots: number,
    private readonly quota: TenantQuota,
  ) {
    this.#free = slots;
  }

  /**
   * Runs the work once it has a slot.
   * @param work may give its slot up before it ends
   * @returns its result; undefined if the slots were closed first
   */
  async run<T>(tenantid: number, work: (giveUpSlot: () => void) => Promise<T>): Promise<T | undefined> {
    if (this.#closed) return undefined;
    this.#noteArrival(tenantid);
    const admitted = await new Promise<boolean>((resolve) => {
      const waiting = this.#waiting.get(tenantid);
      if (waiting) waiting.push(resolve);
      else this.#waiting.set(tenantid, [resolve]);
      this.#admit();
    });
    if (!admitted) return undefined;
    let isHeld = true;
    const giveUpSlot = (): void => {
      if (isHeld) this.#release(tenantid);
      isHeld = false;
    };
    try {
      return await work(giveUpSlot);
    } finally {
      giveUpSlot();
    }
  }

  /** Stops admitting work. */
  close(): void {
    this.#closed = true;
    clearTimeout(this.#pollTimer);
    const dropped = [...this.#waiting.values()].flat();
    this.#waiting.clear();
    for (const resolve of dropped) resolve(false);
  }

  #release(tenantid: number): void {
    const held = (this.#held.get(tenantid) ?? 1) - 1;
    if (held === 0) this.#held.delete(tenantid);
    else this.#held.set(tenantid, held);
    this.#free += 1;
    this.#admit();
  }

  #noteArrival(tenantid: number): void {
    if (tenantid !== this.#latest.tenantid) this.#latestOther = this.#latest;
    this.#latest = { tenantid, atMs: performance.now() };
  }

  #quotaOf(tenantid: number, nowMs: number): number {
    const other = tenantid === this.#latest.tenantid ? this.#latestOther : this.#latest;
    const othersHaveWork =
      nowMs - other.atMs < ACTIVE_MS ||
      holdsOthers(this.#held, tenantid) ||
      holdsOthers(this.#waiting, tenantid);
    return othersHaveWork ? this.quota.contended() : this.quota.alone;
  }

  #admit(): void {
    const nowMs = performance.now();
    for (const [tenantid, waiting] of this.#waiting) {
      if (this.#free === 0) return;
      const held = this.#held.get(tenantid) ?? 0;
      // Two tenants, each with half, would leave nothing.
      if (held >= this.#free || held >= this.#quotaOf(tenantid, nowMs)) continue;
      const next = waiting.shift();
      // Moves to the end of the round if it has more waiters.
      this.#waiting.delete(tenantid);
      if (waiting.length > 0) this.#waiting.set(tenantid, waiting);
      this.#held.set(tenantid, held + 1);
      this.#free -= 1;
      next?.(true);
    }
    if (this.#free > 0 && this.#waiting.size > 0) this.#schedulePoll();
  }

  /** Quotas may grow over time while no slot is released. */
  #schedulePoll(): void {
    this.#pollTimer ??= setTimeout(() => {
      this.#pollTimer = undefined;
      this.#admit();
    }, ADMIT_POLL_MS).unref();
  }
}

function holdsOthers(tenants: ReadonlyMap<number, unknown>, tenantid: number): boolean {
  return tenants.size > (tenants.has(tenantid) ? 1 : 0);
}
