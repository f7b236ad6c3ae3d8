import type { BatchKey } from '../db/outbox/batches.js';
import type { DueDelivery } from '../db/ledger/dueDeliveries.js';

/** "Evaluate the rules for this batch." Ids only: the queue holds no tenant data. */
export interface BatchJob extends BatchKey {
  /** The relay's trace. */
  readonly traceparent?: string;
  /** Events and deliveries of the same tenant ahead of it: tenants with many wait behind those with few. */
  readonly ahead: number;
}

/** When to attempt a delivery, and at which priority. Its job, a `KnownDelivery`, does nothing once there is a newer attempt. */
export interface DeliveryOrder extends DueDelivery {
  /** As `BatchJob.ahead`. */
  readonly ahead: number;
}

/**
 * The same work always has the same id, so adding it is idempotent. No other work ever has it, even after PostgreSQL went
 * back in time and reuses batch ids while the queue still holds older jobs. BullMQ allows neither colons nor all-digit
 * ids.
 */
export const batchJobId = (job: BatchJob): string => `b${job.batchid}-${job.createtime.replace(/\D/g, '')}`;
/**
 * Delivery ids are used once. Contains the attempt, so that the next attempt can be added while the previous job is still
 * finishing; and the due time of a delayed job, since the job that adds it may be for the same attempt, rounded to the
 * second, so that two readers of the same due time get the same id.
 */
export const deliveryJobId = ({ deliveryid, starts, delayMs }: DueDelivery): string =>
  `d${deliveryid}-${starts}${delayMs > 0 ? `-at${Math.round((Date.now() + delayMs) / 1_000)}` : ''}`;

/** Jobs per FIFO priority band; tenants with more ahead wait behind those with less. */
const JOBS_PER_PRIORITY = 16;
const LOWEST_PRIORITY = 100_000;

/** BullMQ's priority: 0 runs first and is cheapest; then 1, 2, … */
export function priorityOf(ahead: number): number {
  return Math.min(Math.floor(ahead / JOBS_PER_PRIORITY), LOWEST_PRIORITY);
}
