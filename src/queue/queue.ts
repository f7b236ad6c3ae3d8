import type { KnownDelivery } from '../db/ledger/deliveryKey.js';
import type { Stoppable } from '../foundation/lifecycle/shutdown.js';
import type { BatchJob, DeliveryOrder } from './jobs.js';

/**
 * Jobs to run next. Jobs are hints: PostgreSQL holds all open work, and the relay's reconciler adds what is missing
 * here. So the queue may lose everything at any time, and may deliver a job twice.
 */
export interface Queue {
  /** Fails fast while the queue is unavailable. */
  addBatches(jobs: readonly BatchJob[]): Promise<void>;
  /** Fails fast while the queue is unavailable. */
  addDeliveries(orders: readonly DeliveryOrder[]): Promise<void>;
  /** Runs jobs until stopped; stopping waits for running jobs, up to `graceMs`. */
  work(handlers: JobHandlers, options: WorkOptions): Stoppable;
  /** Rejects, with a message for the operator, when the queue is unusable. */
  check(): Promise<void>;
  close(): Promise<void>;
}

/** If a handler throws, the reconciler queues its job again. */
export interface JobHandlers {
  /** @param redelivered as for `onDelivery` */
  onBatch(job: BatchJob, redelivered: boolean): Promise<void>;
  /** @param redelivered whether an earlier worker started this job and died */
  onDelivery(job: KnownDelivery, redelivered: boolean): Promise<void>;
}

export interface WorkOptions {
  /** Maximum batches in progress, most of which wait for a slot. */
  readonly batches: number;
  /** Maximum deliveries in progress, most of which wait for a slot. */
  readonly deliveries: number;
  /** How long an unresponsive worker keeps its jobs. */
  readonly leaseMs: number;
  readonly graceMs: number;
}
