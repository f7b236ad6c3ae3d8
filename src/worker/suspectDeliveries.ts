import { FairSlots } from './fairSlots.js';

/** Excess deliveries are dropped; the reconciler queues them again seconds later. */
const MAX_WAITING = 32;

/**
 * Deliveries that were in flight during several crashes. One of them may be the cause, but each crash counts against
 * every delivery in flight. Suspects run one at a time, so that only the culprit is counted and no bystander fails as
 * poison. They take none of the shared slots.
 */
export class SuspectDeliveries {
  readonly #slot = new FairSlots(1, { alone: 1, contended: () => 1 });
  #waiting = 0;

  /** Runs the work once no other suspect is running; not at all if too many wait, or if closed first. */
  async run(tenantid: number, work: () => Promise<unknown>): Promise<void> {
    if (this.#waiting >= MAX_WAITING) return;
    this.#waiting += 1;
    try {
      await this.#slot.run(tenantid, work);
    } finally {
      this.#waiting -= 1;
    }
  }

  /** Stops admitting work. */
  close(): void {
    this.#slot.close();
  }
}
