import { setTimeout as delay } from 'node:timers/promises';
import { Queue as BullQueue, Worker, type Job } from 'bullmq';
import { knownDelivery, type KnownDelivery } from '../db/ledger/deliveryKey.js';
import type { Logger } from '../foundation/observability/log.js';
import { batchJobId, deliveryJobId, priorityOf, type BatchJob, type DeliveryOrder } from './jobs.js';
import type { QueueConnections } from './queueConnections.js';
import type { JobHandlers, Queue, WorkOptions } from './queue.js';
import { logOutages } from './outageLog.js';

const BATCHES = 'batches';
const DELIVERIES = 'deliveries';

/** Jobs added per call to the store. */
const ADD_CHUNK_SIZE = 1_000;
/** A worker's retry delay while the store is unavailable. */
const RETRY_MS = 500;
/** In effect unlimited: starts are counted in the ledger, which outlives the store. */
const MAX_STALLED = 1_000_000;

/** Outcomes are in the ledger; a finished job kept here would only block its id. */
const JOB_OPTIONS = { removeOnComplete: true, removeOnFail: true, attempts: 1 } as const;

export function createBullQueue(connections: QueueConnections, log: Logger): Queue {
  const open = (name: string): BullQueue<BatchJob | KnownDelivery> => {
    const options = {
      connection: connections.producer,
      prefix: connections.prefix,
      defaultJobOptions: JOB_OPTIONS,
      // The event stream has no consumers.
      streams: { events: { maxLen: 100 } },
    };
    const queue = new BullQueue<BatchJob | KnownDelivery>(name, options, connections.backend as never);
    queue.on('error', logOutages(log, `queue ${name}`));
    return queue;
  };
  const batches = open(BATCHES);
  const deliveries = open(DELIVERIES);

  return {
    addBatches: (jobs) => addAll(batches, jobs.map(toBatchJob)),
    addDeliveries: (orders) => addAll(deliveries, orders.map(toDeliveryJob)),
    work: (handlers, options) => startWorkers(connections, handlers, options, log),
    check: () => connections.check(),
    async close() {
      await Promise.all([batches.close(), deliveries.close()]);
      await connections.close();
    },
  };
}

function toBatchJob(job: BatchJob) {
  return {
    name: 'evaluate',
    data: job,
    opts: { jobId: batchJobId(job), priority: priorityOf(job.ahead) },
  };
}

function toDeliveryJob(order: DeliveryOrder) {
  return {
    name: 'send',
    data: knownDelivery(order),
    opts: {
      jobId: deliveryJobId(order),
      priority: priorityOf(order.ahead),
      delay: Math.ceil(order.delayMs),
    },
  };
}

type NewJob = ReturnType<typeof toBatchJob> | ReturnType<typeof toDeliveryJob>;

/** A single job is added on its own: bulk adding has a higher fixed cost (a Redis pipeline, PostgreSQL temporary tables). */
async function addAll(queue: BullQueue<BatchJob | KnownDelivery>, jobs: readonly NewJob[]): Promise<void> {
  for (let start = 0; start < jobs.length; start += ADD_CHUNK_SIZE) {
    const part = jobs.slice(start, start + ADD_CHUNK_SIZE);
    const [only] = part;
    if (only && part.length === 1) await queue.add(only.name, only.data, only.opts);
    else await queue.addBulk(part);
  }
}

function startWorkers(
  connections: QueueConnections,
  handlers: JobHandlers,
  options: WorkOptions,
  log: Logger,
): { stop(): Promise<void> } {
  const start = <T>(
    name: string,
    concurrency: number,
    run: (job: Job<T>) => Promise<void>,
  ): Worker<T, void> => {
    const workerOptions = {
      connection: connections.consumer,
      prefix: connections.prefix,
      concurrency,
      lockDuration: options.leaseMs,
      // A lost worker's job is redelivered after its lease plus one or two of these.
      stalledInterval: Math.ceil(options.leaseMs / 6),
      maxStalledCount: MAX_STALLED,
      runRetryDelay: RETRY_MS,
    };
    const worker = new Worker<T, void>(name, run as never, workerOptions, connections.backend as never);
    worker.on('error', logOutages(log, `worker of queue ${name}`));
    worker.on('failed', (job, error) => {
      log.warn({ err: error, job: job?.id }, 'a job failed; the reconciler will requeue it');
    });
    return worker;
  };
  const workers = [
    start<BatchJob>(BATCHES, options.batches, (job) => handlers.onBatch(job.data, job.attemptsStarted > 1)),
    start<KnownDelivery>(DELIVERIES, options.deliveries, (job) =>
      handlers.onDelivery(job.data, job.attemptsStarted > 1),
    ),
  ];
  return {
    async stop() {
      await Promise.all(workers.map((worker) => closeWithGrace(worker, options.graceMs)));
    },
  };
}

/** BullMQ waits for running jobs indefinitely. After the grace period, disconnects them. */
async function closeWithGrace(worker: Pick<Worker, 'close' | 'disconnect'>, graceMs: number): Promise<void> {
  const outcome = await Promise.race([worker.close(), delay(graceMs, 'timeout', { ref: false })]);
  if (outcome === 'timeout') await worker.disconnect();
}
