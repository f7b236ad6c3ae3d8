import type { Stoppable } from '../shutdown.js';
import type { BatchJob, DeliveryJob, DeliveryOrder } from './jobs.js';

/**
 * What is to be done next. It is a hint: PostgreSQL knows all open work, and the relay's reconciler adds what is
 * missing here. So it may lose everything at any time, and may run a job twice.
 */
export interface Queue {
  /** Rejects at once while the queue is away. */
  addBatches(jobs: readonly BatchJob[]): Promise<void>;
  /** Rejects at once while the queue is away. */
  addDeliveries(orders: readonly DeliveryOrder[]): Promise<void>;
  /** Takes jobs until stopped; stopping waits for those in hand, up to `graceMs`. */
  work(handlers: JobHandlers, options: WorkOptions): Stoppable;
  /** Rejects, in words for the operator, when the queue can't be used now. */
  check(): Promise<void>;
  close(): Promise<void>;
}

/** A handler that throws leaves its job to the reconciler. */
export interface JobHandlers {
  /** @param repeated as for deliveries */
  onBatch(job: BatchJob, repeated: boolean): Promise<void>;
  /** @param repeated whether a worker began with this job before and ended without a word */
  onDelivery(job: DeliveryJob, repeated: boolean): Promise<void>;
}

export interface WorkOptions {
  /** Deliveries in hand at once. */
  readonly concurrency: number;
  /** How long a job is left to a worker that shows no sign of life. */
  readonly leaseMs: number;
  readonly graceMs: number;
}
