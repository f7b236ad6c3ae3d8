import { openBatches } from '../db/outbox/batches.js';
import type { Ledger } from '../db/pool/ledgerPool.js';
import { endLostAttempts } from '../db/ledger/lostAttempts.js';
import { dueDeliveries, markQueued } from '../db/ledger/dueDeliveries.js';
import { IDEMPOTENT_CARRIERS } from '../email/carriers/allCarriers.js';
import { sweep } from '../db/ledger/trackUnended.js';
import type { Queue } from '../queue/queue.js';
import type { Admission } from './admission.js';
import { publish } from './publish.js';

/** An open batch of this age may have been lost on its way to the queue, or with the queue. */
const MIN_BATCH_AGE_MS = 3_000;
const SCAN_LIMIT = 2_000;
/**
 * Seconds after which a delivery that is still waiting is queued again, in case the queue lost it. Longer when thousands
 * wait, e.g. after a carrier outage, to spare the queue.
 */
const RECHECK_SECONDS = { few: 3, many: 10 } as const;
/**
 * Of due deliveries in one run: some are due again before the last of very many are queued, and sweeps and lost attempts wait
 * meanwhile. With a million due, a scan may take seconds.
 */
const SCANS = 10;
const MAX_SCANS_MS = 2_000;

// Requeues open work, read from PostgreSQL each time: state kept in memory might contradict a database that has gone back in
// time. Adding is idempotent, because the same work has the same job id.

export async function reconcileBatches(
  ledger: Ledger,
  queue: Pick<Queue, 'addBatches'>,
  admission: Admission,
): Promise<void> {
  const open = await openBatches(ledger, { minAgeMs: MIN_BATCH_AGE_MS, limit: SCAN_LIMIT });
  await publish(queue, admission, admission.offer(open));
}

/** Starts tracking slow deliveries, ends attempts of lost workers, and queues due deliveries that no worker has claimed. */
export async function reconcileDeliveries(
  ledger: Ledger,
  queue: Pick<Queue, 'addDeliveries'>,
  maxAttempts: number,
): Promise<void> {
  await runAll(
    () => sweep(ledger),
    () =>
      endLostAttempts(ledger, { maxAttempts, limit: SCAN_LIMIT, idempotentCarriers: IDEMPOTENT_CARRIERS }),
    () => addDue(ledger, queue),
  );
}

async function addDue(ledger: Ledger, queue: Pick<Queue, 'addDeliveries'>): Promise<void> {
  const queued = new Map<number, number>();
  const endMs = performance.now() + MAX_SCANS_MS;
  for (let scan = 0; scan < SCANS; scan++) {
    const due = await dueDeliveries(ledger, SCAN_LIMIT);
    await queue.addDeliveries(
      due.map((delivery) => {
        const ahead = queued.get(delivery.tenantid) ?? 0;
        queued.set(delivery.tenantid, ahead + 1);
        return { ...delivery, ahead };
      }),
    );
    const isMany = due.length >= SCAN_LIMIT;
    const marked = await markQueued(ledger, due, isMany ? RECHECK_SECONDS.many : RECHECK_SECONDS.few);
    // Rows locked by another session would only be found again: leave them to the next run.
    if (!isMany || marked === 0 || performance.now() > endMs) return;
  }
}

/** Runs all steps in order even if one fails. Rejects with the first failure. */
async function runAll(...steps: readonly (() => Promise<unknown>)[]): Promise<void> {
  const failures: unknown[] = [];
  for (const step of steps) await step().catch((error: unknown) => failures.push(error));
  if (failures.length > 0) throw failures[0];
}
