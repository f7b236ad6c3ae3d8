import type { TenantQuota } from '../../src/worker/fairSlots.js';
import type { Thread } from './machine.js';
import type { Simulation } from './simulation.js';

const ACTIVE_MS = 1_000;
const ADMIT_POLL_MS = 100;
const IDLE_WINDOW_MS = 100;
const IDLE_ENOUGH = 0.7;

interface Arrival {
  readonly tenantid: number | undefined;
  readonly atMs: number;
}

/**
 * `src/worker/fairSlots.ts` and `tenantQuota.ts` by the simulation's clock: half of the slots for a tenant alone, fewer
 * beside others the busier the event loop is. A test compares the order in which both admit.
 */
export class Slots {
  readonly #waiting = new Map<number, (() => void)[]>();
  readonly #held = new Map<number, number>();
  #latest: Arrival = { tenantid: undefined, atMs: -Infinity };
  #latestOther: Arrival = this.#latest;
  #free: number;
  #isPolling = false;

  constructor(
    private readonly simulation: Simulation,
    slots: number,
    private readonly share: TenantQuota,
  ) {
    this.#free = slots;
  }

  /** Calls `work` once there is a slot, which `work` gives back. */
  take(tenantid: number, work: () => void): void {
    if (tenantid !== this.#latest.tenantid) this.#latestOther = this.#latest;
    this.#latest = { tenantid, atMs: this.simulation.nowMs };
    const waiting = this.#waiting.get(tenantid);
    if (waiting) waiting.push(work);
    else this.#waiting.set(tenantid, [work]);
    this.#admit();
  }

  giveBack(tenantid: number): void {
    const held = (this.#held.get(tenantid) ?? 1) - 1;
    if (held === 0) this.#held.delete(tenantid);
    else this.#held.set(tenantid, held);
    this.#free += 1;
    this.#admit();
  }

  #admit(): void {
    for (const [tenantid, waiting] of this.#waiting) {
      if (this.#free === 0) return;
      const held = this.#held.get(tenantid) ?? 0;
      if (held >= this.#free || held >= this.#shareOf(tenantid)) continue;
      const next = waiting.shift();
      this.#waiting.delete(tenantid);
      if (waiting.length > 0) this.#waiting.set(tenantid, waiting);
      this.#held.set(tenantid, held + 1);
      this.#free -= 1;
      next?.();
    }
    if (this.#free > 0 && this.#waiting.size > 0) this.#poll();
  }

  #shareOf(tenantid: number): number {
    const other = tenantid === this.#latest.tenantid ? this.#latestOther : this.#latest;
    const othersHaveWork =
      this.simulation.nowMs - other.atMs < ACTIVE_MS ||
      this.#held.size > (this.#held.has(tenantid) ? 1 : 0) ||
      this.#waiting.size > (this.#waiting.has(tenantid) ? 1 : 0);
    return othersHaveWork ? this.share.contended() : this.share.alone;
  }

  #poll(): void {
    if (this.#isPolling) return;
    this.#isPolling = true;
    this.simulation.after(ADMIT_POLL_MS, () => {
      this.#isPolling = false;
      this.#admit();
    });
  }
}

/** What one tenant may hold of a worker's slots, by how idle its event loop was of late. */
export function createShare(simulation: Simulation, slots: number, thread: Thread): TenantQuota {
  const alone = Math.ceil(slots / 2);
  const least = Math.ceil(slots / 32);
  let startedAtMs = simulation.nowMs;
  let awakeMs = thread.awakeMs;
  let idle = 1;
  return {
    alone,
    contended() {
      const tookMs = simulation.nowMs - startedAtMs;
      if (tookMs >= IDLE_WINDOW_MS) {
        idle = 1 - (thread.awakeMs - awakeMs) / tookMs;
        startedAtMs = simulation.nowMs;
        ({ awakeMs } = thread);
      }
      return Math.max(least, Math.round(alone * Math.min(1, idle / IDLE_ENOUGH) ** 2));
    },
  };
}
