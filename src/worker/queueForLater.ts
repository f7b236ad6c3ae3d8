import type { DueDelivery } from '../db/ledger/dueDeliveries.js';
import type { Logger } from '../foundation/observability/log.js';
import type { Queue } from '../queue/queue.js';

/** If the queue is unavailable, the reconciler finds the deliveries in the ledger when they are due. */
export async function queueForLater(
  { queue, log }: { readonly queue: Pick<Queue, 'addDeliveries'>; readonly log: Logger },
  deliveries: readonly DueDelivery[],
): Promise<void> {
  if (deliveries.length === 0) return;
  const orders = deliveries.map((delivery) => ({ ...delivery, ahead: 0 }));
  await queue.addDeliveries(orders).catch((error: unknown) => {
    log.debug({ err: error }, 'deliveries could not be queued; the reconciler will');
  });
}
