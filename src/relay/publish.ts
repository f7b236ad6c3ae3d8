import type { Queue } from '../queue/queue.js';
import { traceHeaders } from '../tracing/tracing.js';
import type { Admission, AdmittedBatch } from './admission.js';

/** Adds admitted batches to the queue. If that fails, holds them again and rethrows. */
export async function publish(
  queue: Pick<Queue, 'addBatches'>,
  admission: Admission,
  batches: readonly AdmittedBatch[],
): Promise<void> {
  if (batches.length === 0) return;
  try {
    await queue.addBatches(
      batches.map(({ tenantid, batchid, createtime, mintime, maxtime, ahead }) => ({
        tenantid,
        batchid,
        createtime,
        mintime,
        maxtime,
        ahead,
        ...traceHeaders(),
      })),
    );
  } catch (error) {
    admission.requeue(batches);
    throw error;
  }
}
