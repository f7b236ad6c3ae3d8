import { readBatchMark, writeBatchMark } from '../db/delivery/batchMark.js';
import { openBatches } from '../db/delivery/batches.js';
import type { Ledger } from '../db/connection/ledger.js';
import { endLostAttempts } from '../db/delivery/leases.js';
import { dueDeliveries, noteQueued } from '../db/delivery/openDeliveries.js';
import { sweep } from '../db/delivery/sweep.js';
import type { Queue } from '../queue/queue.js';
import type { Admission } from './admission.js';
import { publish } from './publish.js';

export interface ReconcileDeps {
  readonly ledger: Ledger;
  readonly queue: Queue;
  readonly admission: Admission;
  readonly maxAttempts: number;
}

/** A batch this old without an end is looked at: it may have been lost on its way to the queue, or the queue with it. */
const BATCH_AGE_MS = 3_000;
const MAX_AT_ONCE = 2_000;
/**
 * Seconds after which a delivery that still waits is added again: the queue may have lost it. When thousands wait, as
 * after a provider's outage, that would keep it busy.
 */
const RECHECK_SECONDS = { few: 3, many: 10 } as const;
/** How often it is noted down where a relay that starts later may begin. */
const MARK_MS = 60_000;

/**
 * Compares open work with the queue: whatever is open and should be there is added again. Jobs that are there already
 * have the same ids, so adding them changes nothing.
 */
export class Reconciler {
  /** Every batch below is done. */
  #fromBatchid: string | undefined;
  #markedBatchid: string | undefined;
  #markedAtMs = -Infinity;

  constructor(private readonly deps: ReconcileDeps) {}

  /** Batches that are not done. */
  async batches(): Promise<void> {
    const { ledger, queue, admission } = this.deps;
    this.#fromBatchid ??= await readBatchMark(ledger);
    const open = await openBatches(ledger, {
      fromBatchid: this.#fromBatchid,
      minAgeMs: BATCH_AGE_MS,
      limit: MAX_AT_ONCE,
    });
    this.#fromBatchid = open.nextFrom;
    await this.#mark(open.nextFrom);
    await publish(queue, admission, admission.offer(open.batches));
  }

  async #mark(batchid: string): Promise<void> {
    if (batchid === this.#markedBatchid || performance.now() - this.#markedAtMs < MARK_MS) return;
    await writeBatchMark(this.deps.ledger, batchid);
    this.#markedBatchid = batchid;
    this.#markedAtMs = performance.now();
  }

  /** Deliveries that did not end soon, those whose worker is gone, and those that wait or are due and that nobody has taken. */
  async deliveries(): Promise<void> {
    const { ledger, maxAttempts } = this.deps;
    await eachInTurn(
      () => sweep(ledger),
      () => endLostAttempts(ledger, maxAttempts, MAX_AT_ONCE),
      () => this.#addDue(),
    );
  }

  async #addDue(): Promise<void> {
    const { ledger, queue } = this.deps;
    for (;;) {
      const due = await dueDeliveries(ledger, MAX_AT_ONCE);
      await queue.addDeliveries(due.map(({ delayMs, ...job }, index) => ({ job, delayMs, ahead: index })));
      const isMany = due.length === MAX_AT_ONCE;
      const noted = await noteQueued(ledger, due, isMany ? RECHECK_SECONDS.many : RECHECK_SECONDS.few);
      // Those that another session holds would only come again: they wait for the next time.
      if (!isMany || noted === 0) return;
    }
  }
}

/** Runs all of them, also after one that fails. Rejects with the first failure. */
async function eachInTurn(...steps: readonly (() => Promise<unknown>)[]): Promise<void> {
  const failures: unknown[] = [];
  for (const step of steps) await step().catch((error: unknown) => failures.push(error));
  if (failures.length > 0) throw failures[0];
}
