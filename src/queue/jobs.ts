/** "Evaluate the rules for this batch." Ids only: no tenant's data is in the queue. */
export interface BatchJob {
  readonly tenantid: number;
  readonly batchid: string;
  readonly createtime: string;
  /** See `BatchKey`. */
  readonly mintime?: string;
  readonly maxtime?: string;
  /** How many of the tenant's events and deliveries are ahead of it: who has much in hand waits behind who has little. */
  readonly ahead: number;
}

/** "Try to send this delivery." */
export interface DeliveryJob {
  readonly tenantid: number;
  readonly deliveryid: string;
  readonly createtime: string;
  /** The delivery's newest attempt: a job for an earlier one finds nothing to do. */
  readonly starts: number;
}

/** When and in which turn a delivery is to be tried. */
export interface DeliveryOrder {
  readonly job: DeliveryJob;
  readonly delayMs: number;
  /** As `BatchJob.ahead`. */
  readonly ahead: number;
}

/** The same work has the same id, so adding it twice changes nothing. BullMQ allows neither colons nor mere digits. */
export const batchJobId = (job: BatchJob): string => `b${job.batchid}`;
/**
 * Differs from attempt to attempt, so that a next one can be added while the last one's job is still being finished;
 * and a job for later differs from one for now, which may be the one that adds it. By the second, so that two who read
 * the same time from the ledger a moment apart mean the same job.
 */
export const deliveryJobId = ({ job, delayMs }: DeliveryOrder): string =>
  `d${job.deliveryid}-${job.starts}${delayMs > 0 ? `-at${Math.round((Date.now() + delayMs) / 1_000)}` : ''}`;

/** So many are let through in the order in which they come; who has more ahead waits behind who has less. */
const EVEN_TURN = 16;
const LOWEST_PRIORITY = 100_000;

/** BullMQ's priority: 0 goes first and costs least; then 1, 2, … */
export function priorityOf(ahead: number): number {
  return Math.min(Math.floor(ahead / EVEN_TURN), LOWEST_PRIORITY);
}
