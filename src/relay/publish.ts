import type { Queue } from '../queue/queue.js';
import type { Admission, AdmittedBatch } from './admission.js';

/** Adds admitted batches to the queue. When it is away they are held again, and the error goes on. */
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
      })),
    );
  } catch (error) {
    admission.takeBack(batches);
    throw error;
  }
}
