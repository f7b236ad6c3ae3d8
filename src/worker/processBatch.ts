import type { ReadyDelivery } from '../db/delivery/closeBatch.js';
import type { BatchJob } from '../queue/jobs.js';
import { SpanKind, traced, tracedFrom, type Span } from '../tracing/tracing.js';
import { evaluateRules, type EvaluateDeps } from './evaluateRules.js';
import type { FairSlots } from './fairSlots.js';
import type { LoopTrips } from './loopTrips.js';
import { queueForLater } from './queueForLater.js';
import { sendDelivery, type SendDeps } from './sendDelivery.js';
import type { Suspects } from './suspects.js';

export interface BatchDeps {
  readonly evaluate: EvaluateDeps;
  readonly send: SendDeps;
  readonly loopTrips: LoopTrips;
  readonly slots: FairSlots;
  readonly suspects: Suspects;
}

/** A delivery that waited longer for a slot is reloaded: its tenant may have been paused meanwhile. */
const FRESH_MS = 100;

/** Events become deliveries by the tenant's rules; those that may be sent now are sent, without another job. */
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
  await settleAll([
    queueForLater(deps.send, soon),
    ...ready.map((delivery) => processDelivery(deps, delivery, false, span)),
  ]);
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
  const freshUntilMs = performance.now() + FRESH_MS;
  await send.claimed.claim(job, async () => {
    const end = await slots.run(tenantid, () => {
      const isFresh = performance.now() < freshUntilMs;
      return sendDelivery(send, job, { redelivered, loaded: isFresh ? loaded : undefined, batch });
    });
    if (end === 'suspect') {
      await suspects.run(tenantid, () => sendDelivery(send, job, { redelivered, mayBeSuspect: true }));
    }
    return end === undefined ? 'dropped' : 'done';
  });
}

/** Waits for all, even if one fails. Rejects with the first reason. */
async function settleAll(all: readonly Promise<void>[]): Promise<void> {
  const broken = (await Promise.allSettled(all)).find((result) => result.status === 'rejected');
  if (broken) throw broken.reason;
}
