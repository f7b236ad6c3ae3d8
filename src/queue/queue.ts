import type { Config } from '../config.js';
import type { Database } from '../db/database.js';
import type { Logger } from '../log.js';
import type { Stoppable } from '../shutdown.js';
import { createBullQueue } from './bullQueue.js';
import type { BatchJob, DeliveryJob, DeliveryOrder } from './jobs.js';
import { connectPostgres, migratePostgresQueue } from './postgresConnections.js';
import { connectRedis } from './redisConnections.js';

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
  onBatch(job: BatchJob): Promise<void>;
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

/**
 * Opens the queue: Redis when `config.redisUrl` is set, else the same PostgreSQL. Throws UsageError, with what to set,
 * when it can't be reached or would lose jobs by its settings.
 */
export async function openQueue(config: Config, database: Database, log: Logger): Promise<Queue> {
  const connections =
    config.redisUrl === undefined
      ? await connectPostgres(database, log)
      : await connectRedis(config.redisUrl, config.queuePrefix, log);
  return createBullQueue(connections, log);
}

/** Brings the queue's own tables up to date. Redis needs none. */
export async function migrateQueue(config: Config, database: Database): Promise<void> {
  if (config.redisUrl === undefined) await migratePostgresQueue(database);
}
