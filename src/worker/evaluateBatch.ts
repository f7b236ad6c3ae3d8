import { closeBatch, closePlainBatch, type ClosedBatch } from '../db/ledger/closeBatch.js';
import { loadBatch, type BatchKey, type LoadedBatch } from '../db/outbox/batches.js';
import { countLostEvaluation } from '../db/outbox/poisonBatches.js';
import { isRefusedRow, QUERY_CANCELED, sqlState } from '../db/sql/sqlState.js';
import { EvaluationLost } from '../graphql/dataEngine.js';
import { SpanKind, traced, tracedFrom } from '../foundation/observability/tracing/tracing.js';
import type { BatchJob } from '../queue/jobs.js';
import { deliver } from './deliver.js';
import type { DeliverDeps } from './deliverDeps.js';
import type { LoopGuardLog } from './loopGuardLog.js';
import { giveUp, matchRules, withoutConditions, type EvaluateDeps } from './matchRules.js';
import { queueForLater } from './queueForLater.js';
import type { StartedDeliveries } from './startedDeliveries.js';

export interface BatchDeps {
  readonly evaluate: EvaluateDeps;
  readonly deliver: DeliverDeps;
  readonly loopGuardLog: LoopGuardLog;
  readonly started: StartedDeliveries;
}

/**
 * Events become deliveries by the tenant's rules; those that may be sent now are started, without another job. The batch does not wait
 * for them: otherwise a tenant whose carrier is not responding would hold all of the worker's jobs with small batches.
 */
export function evaluateBatch(deps: BatchDeps, job: BatchJob, redelivered: boolean): Promise<void> {
  const { tenantid, batchid, traceparent } = job;
  const attributes = { 'rowpost.tenant.id': tenantid, 'rowpost.batch.id': batchid };
  return tracedFrom(traceparent, 'batch', { kind: SpanKind.CONSUMER, attributes }, async (span) => {
    const { ready, soon, trips } = await traced(span, 'evaluate rules', {}, () =>
      evaluateRules(deps.evaluate, job, redelivered),
    );
    deps.loopGuardLog.report(tenantid, trips);
    for (const delivery of ready) {
      deps.started.start(tenantid, () => deliver(deps.deliver, delivery, false, span), deps.deliver.log);
    }
    await queueForLater(deps.deliver, soon);
  });
}

/**
 * Turns a batch of committed events into deliveries, one per event and matching rule. Idempotent, also across workers.
 * @param redelivered whether an earlier worker started the same job and died
 */
export async function evaluateRules(
  deps: EvaluateDeps,
  key: BatchKey,
  redelivered: boolean,
): Promise<ClosedBatch> {
  try {
    return await evaluate(deps, key, redelivered);
  } catch (error) {
    // Of the ledger's own statement: a hundred events of a thousand rules may take longer than it may, and what it copies of one
    // may be refused.
    const isRefused = isRefusedRow(error);
    if (!isRefused && sqlState(error) !== QUERY_CANCELED) throw error;
    const batch = await loadBatch(deps.ledger, key);
    if (!batch || batch.done || (batch.events.length <= 1 && !isRefused)) throw error;
    const fate = await countLostEvaluation(deps.ledger, key, batch.events.length);
    if (fate === 'try') throw error;
    return end(deps, key, batch, fate, isRefused ? REFUSED : undefined);
  }
}

async function evaluate(deps: EvaluateDeps, key: BatchKey, redelivered: boolean): Promise<ClosedBatch> {
  // Fast path: without conditions, one statement does everything.
  const plain = redelivered ? undefined : await closePlainBatch(deps.ledger, key, deps.limits);
  if (plain) return plain;
  const batch = await loadBatch(deps.ledger, key);
  // Who can write to the queue could have one tenant's rows evaluated in a session of another, which runs that one's code.
  if (batch && batch.tenantid !== key.tenantid)
    throw new Error(`batch ${key.batchid} is not of tenant ${key.tenantid}`);
  if (batch?.done === true) return NO_DELIVERIES;
  // The tenant was deleted.
  if (!batch) return closeBatch(deps.ledger, key, [], deps.limits);
  if (redelivered) {
    const fate = await countLostEvaluation(deps.ledger, key, batch.events.length);
    if (fate !== 'try') return end(deps, key, batch, fate);
  }
  let matches;
  try {
    matches = await matchRules(deps, key, batch);
    deps.failed.succeeded(key.tenantid);
  } catch (error) {
    if (deps.failed.failed(key.tenantid, batch.ageMs, error)) {
      return closeBatch(deps.ledger, key, withoutConditions(deps, key, batch), deps.limits);
    }
    if (!(error instanceof EvaluationLost)) throw error;
    const fate = await countLostEvaluation(deps.ledger, key, batch.events.length);
    if (fate === 'try') throw error;
    return end(deps, key, batch, fate);
  }
  return closeBatch(deps.ledger, key, matches, deps.limits);
}

/** Ends a batch that can't be evaluated. */
function end(
  deps: EvaluateDeps,
  key: BatchKey,
  batch: LoadedBatch,
  fate: 'split' | 'give-up',
  reason?: string,
): ClosedBatch | Promise<ClosedBatch> {
  return fate === 'split'
    ? NO_DELIVERIES
    : closeBatch(deps.ledger, key, giveUp(deps, key, batch, reason), deps.limits);
}

const REFUSED = 'PostgreSQL refuses to record what this rule sends for the change';

const NO_DELIVERIES: ClosedBatch = { ready: [], soon: [], trips: [] };
