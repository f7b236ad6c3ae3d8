import type { Queue } from '../queue/queue.js';
import { traceparentOf, type Span } from '../foundation/observability/tracing/tracing.js';
import type { Admission, AdmittedBatch } from './admission.js';

/** Adds admitted batches to the queue. If that fails, holds them again and rethrows. */
export async function publish(
  queue: Pick<Queue, 'addBatches'>,
  admission: Admission,
  batches: readonly AdmittedBatch[],
  span?: Span,
): Promise<void> {
  if (batches.length === 0) return;
  try {
    const traced = traceparentOf(span);
    await queue.addBatches(
      batches.map(({ tenantid, batchid, createtime, ahead }) => ({
        tenantid,
        batchid,
        createtime,
        ahead,
        ...traced,
      })),
    );
  } catch (error) {
    admission.requeue(batches);
    throw error;
  }
}
