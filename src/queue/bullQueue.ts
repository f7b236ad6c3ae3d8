import { Queue as BullQueue, Worker, type Job } from 'bullmq';
import type { Logger } from '../log.js';
import {
  batchJobId,
  deliveryJobId,
  priorityOf,
  type BatchJob,
  type DeliveryJob,
  type DeliveryOrder,
} from './jobs.js';
import type { QueueConnections } from './connections.js';
import type { JobHandlers, Queue, WorkOptions } from './jobQueue.js';
import { logOutages } from './outageLog.js';

const BATCHES = 'batches';
const DELIVERIES = 'deliveries';

/** Most jobs added in one call to the store. */
const ADD_AT_ONCE = 1_000;
/**
 * Jobs that a worker process takes for each delivery that it may have in hand. Those that wait for a slot cost little,
 * and the more it sees of them the fairer it can choose.
 */
const JOBS_PER_SLOT = 2;
/** How soon a worker asks again after the store was away. */
const RETRY_MS = 500;
/** A job may stall as often as it likes: the ledger counts starts, and it survives the store. */
const MAX_STALLED = 1_000_000;

/** Ends of jobs are in the ledger; here a finished job would only block its id. */
const JOB_OPTIONS = { removeOnComplete: true, removeOnFail: true, attempts: 1 } as const;

export function createBullQueue(connections: QueueConnections, log: Logger): Queue {
  const open = (name: string): BullQueue<BatchJob | DeliveryJob> => {
    const options = {
      connection: connections.producer,
      prefix: connections.prefix,
      defaultJobOptions: JOB_OPTIONS,
      // Nobody reads the stream of events.
      streams: { events: { maxLen: 100 } },
    };
    const queue = new BullQueue<BatchJob | DeliveryJob>(name, options, connections.backend as never);
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
    data: order.job,
    opts: {
      jobId: deliveryJobId(order),
      priority: priorityOf(order.ahead),
      delay: Math.ceil(order.delayMs),
    },
  };
}

type NewJob = ReturnType<typeof toBatchJob> | ReturnType<typeof toDeliveryJob>;

/** One job goes by itself: what carries many, a pipeline of Redis or temporary tables of PostgreSQL, costs more than it. */
async function addAll(queue: BullQueue<BatchJob | DeliveryJob>, jobs: readonly NewJob[]): Promise<void> {
  for (let start = 0; start < jobs.length; start += ADD_AT_ONCE) {
    const part = jobs.slice(start, start + ADD_AT_ONCE);
    const [only] = part;
    if (only && part.length === 1) await queue.add(only.name, only.data, only.opts);
    else await queue.addBulk(part);
  }
}

type AnyWorker = Worker<BatchJob, void> | Worker<DeliveryJob, void>;

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
      // A lost worker's job comes back a lease and one or two of these later.
      stalledInterval: Math.ceil(options.leaseMs / 6),
      maxStalledCount: MAX_STALLED,
      runRetryDelay: RETRY_MS,
    };
    const worker = new Worker<T, void>(name, run as never, workerOptions, connections.backend as never);
    worker.on('error', logOutages(log, `worker of queue ${name}`));
    worker.on('failed', (job, error) => {
      log.warn({ err: error, job: job?.id }, 'a job broke off; the reconciler will bring it back');
    });
    return worker;
  };
  const workers = [
    start<BatchJob>(BATCHES, options.concurrency, (job) =>
      handlers.onBatch(job.data, job.attemptsStarted > 1),
    ),
    start<DeliveryJob>(DELIVERIES, options.concurrency * JOBS_PER_SLOT, (job) =>
      handlers.onDelivery(job.data, job.attemptsStarted > 1),
    ),
  ];
  return {
    async stop() {
      await Promise.all(workers.map((worker) => closeWithin(worker, options.graceMs)));
    },
  };
}

/** BullMQ waits for jobs in hand without end. After the grace their connections are taken from them. */
async function closeWithin(worker: AnyWorker, graceMs: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const tooLong = new Promise<'too long'>((resolve) => {
    timer = setTimeout(() => resolve('too long'), graceMs);
  });
  const end = await Promise.race([worker.close(), tooLong]);
  clearTimeout(timer);
  if (end === 'too long') await worker.disconnect();
}
