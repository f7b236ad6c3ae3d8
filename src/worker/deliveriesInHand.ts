import { holdDeliveries, type WaitingDelivery } from '../db/delivery/leases.js';
import type { Ledger } from '../db/connection/ledger.js';
import type { Logger } from '../log.js';
import type { DeliveryJob } from '../queue/jobs.js';
import type { Stoppable } from '../shutdown.js';

interface Held {
  readonly job: DeliveryJob;
  /** When its lease is to be recorded next. */
  dueMs: number;
  isRecorded: boolean;
}

/**
 * Nearly all deliveries are sent before anybody asks what became of them. One that takes longer gets a lease, before the
 * relay's sweep, which comes two seconds after the delivery at the earliest, would put it into the queue.
 */
const GRACE_MS = 1_000;
const MAX_LOOK_MS = 250;

/**
 * Deliveries that this worker has taken, and that have not begun to be sent: they wait for a slot, or are being composed.
 * While the worker lives nobody else is given them.
 */
export class DeliveriesInHand implements Stoppable {
  readonly #held = new Map<string, Held>();
  /** Put down again, with a lease on record. */
  readonly #dropped: Held[] = [];
  readonly #timer: NodeJS.Timeout;
  #recording: Promise<void> | undefined;

  constructor(
    private readonly ledger: Ledger,
    private readonly leaseMs: number,
    private readonly log: Logger,
  ) {
    this.#timer = setInterval(() => this.#look(), Math.min(MAX_LOOK_MS, leaseMs / 6));
  }

  /**
   * Runs the work, unless the delivery is in this worker's hands already: a hint may come twice.
   * @param work 'dropped' when nothing was done
   */
  async hold(job: DeliveryJob, work: () => Promise<'done' | 'dropped'>): Promise<void> {
    const name = `${job.deliveryid} ${job.starts}`;
    if (this.#held.has(name)) return;
    const held: Held = { job, dueMs: performance.now() + GRACE_MS, isRecorded: false };
    this.#held.set(name, held);
    try {
      const end = await work();
      if (end === 'dropped' && held.isRecorded) this.#dropped.push(held);
    } finally {
      this.#held.delete(name);
    }
  }

  /** Another worker need not wait for the leases of what was dropped. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#recording;
    await this.#record(this.#dropped.splice(0), 0);
  }

  #look(): void {
    const nowMs = performance.now();
    const due = [...this.#held.values()].filter((held) => held.dueMs <= nowMs);
    if (due.length === 0 || this.#recording) return;
    this.#recording = this.#record(due, this.leaseMs).finally(() => {
      this.#recording = undefined;
    });
  }

  /** Without its lease a delivery may be composed twice, and is sent once all the same: the start of sending is the fence. */
  async #record(held: readonly Held[], leaseMs: number): Promise<void> {
    if (held.length === 0) return;
    const askedAtMs = performance.now();
    const waiting = held.map(({ job, isRecorded }): WaitingDelivery => ({ ...job, isTracked: isRecorded }));
    try {
      await holdDeliveries(this.ledger, waiting, leaseMs);
    } catch (error) {
      this.log.warn({ err: error }, 'leases of deliveries in hand could not be recorded');
      return;
    }
    for (const each of held) {
      each.isRecorded = true;
      each.dueMs = askedAtMs + leaseMs / 2;
    }
  }
}
