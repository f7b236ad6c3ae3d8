import { FairSlots } from './fairSlots.js';

/** Those beyond are left to the reconciler, which brings them back some seconds later. */
const MAX_WAITING = 32;

/**
 * Deliveries that were in hand when processes ended, time and again. One of them may be the cause, and who was merely
 * beside it is counted as lost like it. One at a time, only the one in hand is counted, and no bystander fails as
 * poison. They hold none of the slots that the others share.
 */
export class Suspects {
  readonly #slot = new FairSlots(1, { alone: 1, besideOthers: () => 1 });
  #waiting = 0;

  /** Runs the work when nobody else's runs; never when too many wait, or when it is closed before that. */
  async run(tenantid: number, work: () => Promise<void>): Promise<void> {
    if (this.#waiting >= MAX_WAITING) return;
    this.#waiting += 1;
    try {
      await this.#slot.run(tenantid, work);
    } finally {
      this.#waiting -= 1;
    }
  }

  /** Lets nobody in any more. */
  close(): void {
    this.#slot.close();
  }
}
