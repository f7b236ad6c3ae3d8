import { createTransport } from '../email/carriers/createTransport.js';
import { FairRoom } from '../foundation/limits/fairRoom.js';
import type { Queue } from '../queue/queue.js';
import type { Services } from '../control/services.js';
import type { Stoppable } from '../foundation/lifecycle/shutdown.js';
import type { TemplatePool } from '../templates/index.js';
import { createAttemptReport } from './attemptReport.js';
import { CarrierHolds } from './carrierHolds.js';
import { createDeliveryLedger } from './deliveryLedger.js';
import { ClaimedDeliveries } from './claimedDeliveries.js';
import type { EvaluateDeps } from './matchRules.js';
import { FairSlots } from './fairSlots.js';
import { LoopTrips } from './loopTrips.js';
import { processBatch, processDelivery, type BatchDeps } from './evaluateBatch.js';
import type { SendDeps } from './deliver.js';
import { StartedDeliveries } from './startedDeliveries.js';
import { Suspects } from './suspects.js';
import { createTenantShare } from './tenantShare.js';

export interface WorkerDeps extends Omit<Services, 'engine'> {
  readonly engine: SendDeps['engine'] & EvaluateDeps['engine'];
  readonly templates: Pick<TemplatePool, 'render'>;
  readonly queue: Queue;
}

/** Fraction of the grace period for jobs; the rest is for closing connections. */
const GRACE_FOR_JOBS = 0.8;
/**
 * Deliveries per slot that wait in memory after their batch was evaluated, where they cost no job: as many as the relay admits of
 * a quick tenant fit into its half.
 */
const STARTED_PER_SLOT = 200;
/** Jobs per slot that a worker fetches from the queue of deliveries. The more it sees, the more fairly it can schedule. */
const JOBS_PER_SLOT = 4;

/** Maximum bytes of large records in memory: two of the largest events. Composing an email takes several times as much. */
const LARGE_RECORD_BYTES = 40_000_000;

/** Processes batches and deliveries from the queue until stopped. Stopping drains work in flight, within the grace period. */
export function startWorker(deps: WorkerDeps): Stoppable {
  const { config, log, queue } = deps;
  const { ledger } = deps.database;
  const claimed = new ClaimedDeliveries(ledger, config.leaseMs, log);
  const transport = createTransport(config, deps.database);
  const now = (): number => deps.clock.now();
  const records = new FairRoom(LARGE_RECORD_BYTES);
  const sendDeps: SendDeps = {
    ledger: createDeliveryLedger(ledger, config.leaseMs, log),
    claimed,
    transport,
    queue,
    engine: deps.engine,
    templates: deps.templates,
    principals: deps.principals,
    baseUrl: config.baseUrl,
    isCell: config.cell !== undefined,
    now,
    log,
    holds: new CarrierHolds(now),
    records,
    retryTerms: {
      maxAttempts: config.maxAttempts,
      backoffBaseMs: config.backoffBaseMs,
      backoffCapMs: config.backoffCapMs,
      random: Math.random,
    },
    sendDeadlineMs: config.sendDeadlineMs,
    keyRing: deps.keyRing,
    keepsMail: config.keepMailDays > 0,
    report: createAttemptReport({ log, linesPerSecond: config.logLinesPerSecond, now }),
  };
  const slots = new FairSlots(config.workerConcurrency, createTenantShare(config.workerConcurrency));
  const suspects = new Suspects();
  const started = new StartedDeliveries(config.workerConcurrency * STARTED_PER_SLOT);
  const queued = new StartedDeliveries(config.workerConcurrency * JOBS_PER_SLOT);
  const batchDeps: BatchDeps = {
    evaluate: {
      ledger,
      engine: deps.engine,
      limits: { firesPerMinute: config.ruleFiresPerMinute, emailsPerSecond: config.tenantEmailsPerSecond },
      records,
      log,
    },
    send: sendDeps,
    loopTrips: new LoopTrips(log),
    slots,
    suspects,
    started,
  };
  const graceMs = config.graceMs * GRACE_FOR_JOBS;
  const work = queue.work(
    {
      onBatch: (job, redelivered) => processBatch(batchDeps, job, redelivered),
      onDelivery: (job, redelivered) =>
        queued.run(job.tenantid, () => processDelivery(batchDeps, job, redelivered)),
    },
    {
      batches: config.workerConcurrency,
      deliveries: config.workerConcurrency * JOBS_PER_SLOT,
      leaseMs: config.leaseMs,
      graceMs,
    },
  );
  return {
    async stop() {
      // Waiting deliveries are in the ledger: the reconciler queues them again.
      slots.close();
      suspects.close();
      const stoppedAtMs = performance.now();
      await work.stop();
      await started.ended(graceMs - (performance.now() - stoppedAtMs));
      await claimed.stop();
      await transport.close();
    },
  };
}
