import { renewLeases } from '../db/delivery/leases.js';
import type { Ledger } from '../db/connection/ledger.js';
import type { Logger } from '../log.js';
import type { DeliveryJob } from '../queue/jobs.js';
import type { Stoppable } from '../shutdown.js';

/** What a worker does with a delivery that it has in hand. */
export interface Claim {
  /** The attempt has begun, with a lease asked for at `askedAtMs` (`performance.now()`). */
  begin(askedAtMs: number): void;
  /** Whether the lease is certain to be still ours. Uses the monotonic clock, which keeps running while the process is stopped. */
  isHeld(): boolean;
}

interface Held {
  readonly job: DeliveryJob;
  /** When to record or renew its lease. */
  dueMs: number;
  /** Never later than the end of the lease on record. */
  untilMs: number;
  sending: boolean;
  isTracked: boolean;
}

/**
 * Most deliveries are sent within this time and never need a lease before they begin. A slower one gets it before the
 * relay's sweep, at the earliest two seconds after the delivery was recorded, would queue it again.
 */
const GRACE_MS = 1_000;
const MAX_SCAN_INTERVAL_MS = 250;
/** Fraction of the lease reserved for clock drift and the time a request takes to reach the provider. */
const CLOCK_MARGIN = 0.2;

/**
 * Deliveries from the time when this worker takes them to their attempt's end: they wait for a slot, are being composed, or
 * are with the provider. While the worker is alive and renews their leases, no other worker gets them.
 */
export class DeliveriesInHand implements Stoppable {
  readonly #held = new Map<string, Held>();
  /** Given up without being attempted, with a lease on record. */
  readonly #dropped: Held[] = [];
  readonly #timer: NodeJS.Timeout;
  #renewing: Promise<void> | undefined;

  constructor(
    private readonly ledger: Ledger,
    private readonly leaseMs: number,
    private readonly log: Logger,
  ) {
    this.#timer = setInterval(() => this.#renewDue(), Math.min(MAX_SCAN_INTERVAL_MS, leaseMs / 6));
  }

  /**
   * Runs the work unless this worker has the delivery already: a job may be delivered twice.
   * @param work returns 'dropped' when the delivery was not attempted
   */
  async claim(job: DeliveryJob, work: (claim: Claim) => Promise<'done' | 'dropped'>): Promise<void> {
    const key = `${job.deliveryid} ${job.starts}`;
    if (this.#held.has(key)) return;
    const dueMs = performance.now() + GRACE_MS;
    const held: Held = { job, dueMs, untilMs: -Infinity, sending: false, isTracked: false };
    this.#held.set(key, held);
    try {
      const outcome = await work({
        begin: (askedAtMs) => {
          held.sending = true;
          this.#extend(held, askedAtMs);
        },
        isHeld: () => performance.now() < held.untilMs,
      });
      if (outcome === 'dropped' && held.isTracked) this.#dropped.push(held);
    } finally {
      this.#held.delete(key);
    }
  }

  /** Releases the leases of dropped deliveries, so that another worker need not wait for them. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#renewing;
    await this.#renew(this.#dropped.splice(0), 0);
  }

  #extend(held: Held, askedAtMs: number): void {
    held.untilMs = askedAtMs + this.leaseMs * (1 - CLOCK_MARGIN);
    held.dueMs = askedAtMs + this.leaseMs / 3;
  }

  #renewDue(): void {
    const nowMs = performance.now();
    const due = [...this.#held.values()].filter((held) => held.dueMs <= nowMs);
    if (due.length === 0 || this.#renewing) return;
    this.#renewing = this.#renew(due, this.leaseMs).finally(() => {
      this.#renewing = undefined;
    });
  }

  /** Before it begins, a delivery without a lease may be composed twice but is still sent once: `startSending` is the fence. */
  async #renew(all: readonly Held[], leaseMs: number): Promise<void> {
    if (all.length === 0) return;
    const askedAtMs = performance.now();
    const leases = all.map(({ job, sending, isTracked }) => ({
      ...job,
      starts: sending ? job.starts + 1 : job.starts,
      sending,
      isTracked,
    }));
    let renewed: readonly boolean[];
    try {
      renewed = await renewLeases(this.ledger, leases, leaseMs);
    } catch (error) {
      this.log.warn({ err: error }, 'leases of deliveries in hand could not be renewed');
      return;
    }
    all.forEach((held, index) => {
      held.isTracked = true;
      // An attempt that began meanwhile has a lease of its own.
      if (held.sending !== leases[index]?.sending) return;
      this.#extend(held, askedAtMs);
      if (renewed[index] !== true) held.untilMs = -Infinity;
    });
  }
}
