import type { Stoppable } from '../foundation/lifecycle/shutdown.js';
import { TenantLimiter } from '../foundation/limits/tenantLimiter.js';
import { deliver } from './deliver.js';
import { createDeliverDeps, type WorkerDeps } from './deliverDeps.js';
import { dividedLedger } from './dividedLedger.js';
import { evaluateBatch } from './evaluateBatch.js';
import { FailedEvaluations } from './failedEvaluations.js';
import { FairSlots } from './fairSlots.js';
import { LoopGuardLog } from './loopGuardLog.js';
import { StartedDeliveries } from './startedDeliveries.js';

export type { WorkerDeps } from './deliverDeps.js';

/** Fraction of the grace period for jobs; the rest is for closing connections. */
const GRACE_FOR_JOBS = 0.8;
/**
 * Deliveries per slot that wait in memory after their batch was evaluated, where they cost no job: as many as the relay admits of
 * a quick tenant fit into its half.
 */
const STARTED_PER_SLOT = 200;
/** Jobs per slot that a worker fetches from each queue. The more it sees, the more fairly it can schedule. */
const JOBS_PER_SLOT = 4;

/** One tenant holds as many slots for batches as it leaves free, at most: half of them, or a third if two do. */
const ANY_THAT_IS_FREE = { alone: Infinity, contended: () => Infinity };

/** Processes batches and deliveries from the queue until stopped. Stopping drains work in flight, within the grace period. */
export function startWorker(deps: WorkerDeps): Stoppable {
  const { config, log, queue, engine, database } = deps;
  const { ledger, ledgerPool } = database;
  const deliverDeps = createDeliverDeps(deps);
  const { claimed, slots, suspects, carriers, records } = deliverDeps;
  const started = new StartedDeliveries(config.workerConcurrency * STARTED_PER_SLOT);
  const jobs = config.workerConcurrency * JOBS_PER_SLOT;
  const queued = new StartedDeliveries(jobs);
  // Conditions may take as long as a statement.
  const batches = new StartedDeliveries(jobs);
  const batchSlots = new FairSlots(config.workerConcurrency, ANY_THAT_IS_FREE);
  /** One is left to deliveries. */
  const connections = new TenantLimiter({ max: Math.max(1, ledgerPool.options.max - 1) });
  const limits = { firesPerMinute: config.ruleFiresPerMinute, emailsPerSecond: config.tenantEmailsPerSecond };
  const evaluateDeps = { engine, limits, records, failed: new FailedEvaluations(), log };
  const batchDeps = {
    deliver: deliverDeps,
    loopGuardLog: new LoopGuardLog(log),
    started,
  };
  const graceMs = config.graceMs * GRACE_FOR_JOBS;
  const work = queue.work(
    {
      onBatch: (job, redelivered) =>
        batches.run(job.tenantid, () =>
          batchSlots.run(job.tenantid, () => {
            const evaluate = { ...evaluateDeps, ledger: dividedLedger(ledger, connections, job.tenantid) };
            return evaluateBatch({ ...batchDeps, evaluate }, job, redelivered);
          }),
        ),
      onDelivery: (job, redelivered) =>
        queued.run(job.tenantid, () => deliver(deliverDeps, job, redelivered)),
    },
    {
      batches: jobs,
      deliveries: jobs,
      leaseMs: config.leaseMs,
      graceMs,
    },
  );
  return {
    async stop() {
      // Waiting batches and deliveries are in the ledger: the reconciler queues them again.
      batchSlots.close();
      slots.close();
      suspects.close();
      const stoppedAtMs = performance.now();
      await work.stop();
      await started.ended(graceMs - (performance.now() - stoppedAtMs));
      await claimed.stop();
      await carriers.close();
    },
  };
}
