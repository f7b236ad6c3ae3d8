import type { KnownDelivery } from '../db/delivery/deliveryKey.js';
import { holdDeliveries, type WaitingDelivery } from '../db/delivery/leases.js';
import type { Ledger } from '../db/connection/ledger.js';
import type { Logger } from '../log.js';
import type { Stoppable } from '../shutdown.js';

interface Claim {
  readonly job: KnownDelivery;
  /** When to record or renew its lease. */
  dueMs: number;
  isRecorded: boolean;
}

/**
 * Most deliveries are sent within this time and never need a lease. A slower one gets its lease before the relay's sweep,
 * at the earliest two seconds after the delivery was recorded, would queue it again.
 */
const GRACE_MS = 1_000;
const MAX_SCAN_INTERVAL_MS = 250;

/**
 * Deliveries that this worker has claimed but not begun to send: they wait for a slot, or are being composed. While the
 * worker is alive, no other worker gets them.
 */
export class ClaimedDeliveries implements Stoppable {
  readonly #claims = new Map<string, Claim>();
  /** Given up without being attempted, with a lease on record. */
  readonly #dropped: Claim[] = [];
  readonly #timer: NodeJS.Timeout;
  #recording: Promise<void> | undefined;

  constructor(
    private readonly ledger: Ledger,
    private readonly leaseMs: number,
    private readonly log: Logger,
  ) {
    this.#timer = setInterval(() => this.#renew(), Math.min(MAX_SCAN_INTERVAL_MS, leaseMs / 6));
  }

  /**
   * Runs the work unless this worker has claimed the delivery already: a job may be delivered twice.
   * @param work returns 'dropped' when the delivery was not attempted
   */
  async claim(job: KnownDelivery, work: () => Promise<'done' | 'dropped'>): Promise<void> {
    const key = `${job.deliveryid} ${job.starts}`;
    if (this.#claims.has(key)) return;
    const claim: Claim = { job, dueMs: performance.now() + GRACE_MS, isRecorded: false };
    this.#claims.set(key, claim);
    try {
      const outcome = await work();
      if (outcome === 'dropped' && claim.isRecorded) this.#dropped.push(claim);
    } finally {
      this.#claims.delete(key);
    }
  }

  /** Releases the leases of dropped deliveries, so that another worker need not wait for them. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#recording;
    await this.#record(this.#dropped.splice(0), 0);
  }

  #renew(): void {
    const nowMs = performance.now();
    const due = [...this.#claims.values()].filter((claim) => claim.dueMs <= nowMs);
    if (due.length === 0 || this.#recording) return;
    this.#recording = this.#record(due, this.leaseMs).finally(() => {
      this.#recording = undefined;
    });
  }

  /** Without a lease a delivery may be composed twice but is still sent once: `startSending` is the fence. */
  async #record(claims: readonly Claim[], leaseMs: number): Promise<void> {
    if (claims.length === 0) return;
    const askedAtMs = performance.now();
    const waiting = claims.map(({ job, isRecorded }): WaitingDelivery => ({ ...job, isTracked: isRecorded }));
    try {
      await holdDeliveries(this.ledger, waiting, leaseMs);
    } catch (error) {
      this.log.warn({ err: error }, 'leases of claimed deliveries could not be recorded');
      return;
    }
    for (const claim of claims) {
      claim.isRecorded = true;
      claim.dueMs = askedAtMs + leaseMs / 2;
    }
  }
}
