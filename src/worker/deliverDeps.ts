import type { Services } from '../control/services.js';
import { openCarriers } from '../email/carriers/openCarriers.js';
import type { ComposeDeps } from '../email/composeEmail.js';
import { TenantLimiter } from '../foundation/limits/tenantLimiter.js';
import type { Queue } from '../queue/queue.js';
import { createAttemptReport } from './attemptReport.js';
import { CarrierHolds } from './carrierHolds.js';
import { ClaimedDeliveries } from './claimedDeliveries.js';
import { createDeliveryLedger } from './deliveryLedger.js';
import { FairSlots } from './fairSlots.js';
import type { EvaluateDeps } from './matchRules.js';
import { SuspectDeliveries } from './suspectDeliveries.js';
import { createTenantQuota } from './tenantQuota.js';

export interface WorkerDeps extends Omit<Services, 'engine'> {
  readonly engine: ComposeDeps['engine'] & EvaluateDeps['engine'];
  readonly templates: ComposeDeps['templates'];
  readonly queue: Queue;
}

/** Maximum bytes of large records in memory: two of the largest events. Composing an email takes several times as much. */
const LARGE_RECORD_BYTES = 40_000_000;

/** What the deliveries of a worker share. */
export type DeliverDeps = ReturnType<typeof createDeliverDeps>;

export function createDeliverDeps(deps: WorkerDeps) {
  const { config, log, database, keyRing, engine, templates, principals, queue } = deps;
  const now = (): number => deps.clock.now();
  return {
    ledger: createDeliveryLedger(database.ledger, config.leaseMs, log),
    claimed: new ClaimedDeliveries(database.ledger, config.leaseMs, log),
    slots: new FairSlots(config.workerConcurrency, createTenantQuota(config.workerConcurrency)),
    suspects: new SuspectDeliveries(),
    carriers: openCarriers(config, database),
    queue,
    engine,
    templates,
    principals,
    baseUrl: config.baseUrl,
    /** Links then tell the proxy in front their tenant. */
    isCell: config.cell !== undefined,
    now,
    log,
    holds: new CarrierHolds(now),
    /** Memory for large records. */
    records: new TenantLimiter({ max: LARGE_RECORD_BYTES }),
    retryOptions: {
      maxAttempts: config.maxAttempts,
      backoffBaseMs: config.backoffBaseMs,
      backoffCapMs: config.backoffCapMs,
      random: Math.random,
    },
    sendDeadlineMs: config.sendDeadlineMs,
    /** Decrypts accounts, seals unsubscribe links, and encrypts kept emails. */
    keyRing,
    keepsEmail: config.keepEmailDays > 0,
    report: createAttemptReport({ log, linesPerSecond: config.logLinesPerSecond, now }),
  };
}
