import type { ReadyDelivery } from '../db/ledger/closeBatch.js';
import type { BatchJob } from '../queue/jobs.js';
import { SpanKind, traced, tracedFrom, type Span } from '../foundation/observability/tracing/tracing.js';
import { evaluateRules, type EvaluateDeps } from './matchRules.js';
import type { FairSlots } from './fairSlots.js';
import type { LoopTrips } from './loopTrips.js';
import { queueForLater } from './queueForLater.js';
import { sendDelivery, type SendDeps } from './deliver.js';
import type { StartedDeliveries } from './startedDeliveries.js';
import type { Suspects } from './suspects.js';

export interface BatchDeps {
  readonly evaluate: EvaluateDeps;
  readonly send: SendDeps;
  readonly loopTrips: LoopTrips;
  readonly slots: FairSlots;
  readonly suspects: Suspects;
  readonly started: StartedDeliveries;
}

/** A delivery that waited longer for a slot is reloaded: its tenant may have been paused meanwhile, and its record takes memory. */
const FRESH_MS = 100;

/**
 * Events become deliveries by the tenant's rules; those that may be sent now are started, without another job. The batch does not wait
 * for them: otherwise a tenant whose carrier is not responding would hold all of the worker's jobs with small batches.
 */
export function processBatch(deps: BatchDeps, job: BatchJob, redelivered: boolean): Promise<void> {
  const attributes = { 'rowpost.tenant.id': job.tenantid, 'rowpost.batch.id': job.batchid };
  return tracedFrom(job.traceparent, 'batch', { kind: SpanKind.CONSUMER, attributes }, (span) =>
    evaluateAndSend(deps, job, redelivered, span),
  );
}

async function evaluateAndSend(
  deps: BatchDeps,
  job: BatchJob,
  redelivered: boolean,
  span: Span | undefined,
): Promise<void> {
  const { ready, soon, trips } = await traced(span, 'evaluate rules', {}, () =>
    evaluateRules(deps.evaluate, job, redelivered),
  );
  deps.loopTrips.report(job.tenantid, trips);
  for (const delivery of ready) {
    const process = (): Promise<void> => processDelivery(deps, delivery, false, span);
    deps.started.start(delivery.tenantid, process, deps.send.log);
  }
  await queueForLater(deps.send, soon);
}

/**
 * One attempt at a delivery, once it has a slot. A suspect gives its slot up and waits for the other suspects instead.
 * @param batch the span of the batch that it has just been recorded for
 */
export async function processDelivery(
  { send, slots, suspects }: BatchDeps,
  { loaded, ...job }: ReadyDelivery,
  redelivered: boolean,
  batch?: Span,
): Promise<void> {
  const { tenantid } = job;
  await send.claimed.claim(job, async () => {
    const forget = loaded && setTimeout(() => (loaded = undefined), FRESH_MS);
    const end = await slots.run(tenantid, () => {
      clearTimeout(forget);
      return sendDelivery(send, job, { redelivered, loaded, batch });
    });
    if (end === 'suspect') {
      await suspects.run(tenantid, () => sendDelivery(send, job, { redelivered, mayBeSuspect: true }));
    }
    return end === undefined ? 'dropped' : 'done';
  });
}
