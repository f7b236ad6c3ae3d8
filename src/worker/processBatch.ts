import type { KnownDelivery } from '../db/delivery/deliveryKey.js';
import type { LoadedDelivery } from '../db/delivery/loadDeliveries.js';
import type { BatchJob } from '../queue/jobs.js';
import type { ClaimedDeliveries } from './claimedDeliveries.js';
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
  readonly claimed: ClaimedDeliveries;
  readonly slots: FairSlots;
  readonly suspects: Suspects;
}

/** A delivery as it was when its batch was closed. */
interface RecentCopy {
  readonly loaded: LoadedDelivery | undefined;
  readonly untilMs: number;
  /** The batch's. */
  readonly batch: Span | undefined;
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
  const untilMs = performance.now() + FRESH_MS;
  deps.loopTrips.report(job.tenantid, trips);
  await queueForLater(deps.send, soon);
  await settleAll(
    ready.map(({ loaded, ...job }) => processDelivery(deps, job, false, { loaded, untilMs, batch: span })),
  );
}

/** One attempt at a delivery, once it has a slot. A suspect gives its slot up and waits for the other suspects instead. */
export async function processDelivery(
  { send, claimed, slots, suspects }: BatchDeps,
  job: KnownDelivery,
  redelivered: boolean,
  copy?: RecentCopy,
): Promise<void> {
  const { tenantid } = job;
  await claimed.claim(job, async () => {
    const end = await slots.run(tenantid, () =>
      sendDelivery(send, job, { redelivered, loaded: stillFresh(copy), batch: copy?.batch }),
    );
    if (end === 'suspect') {
      await suspects.run(tenantid, () => sendDelivery(send, job, { redelivered, mayBeSuspect: true }));
    }
    return end === undefined ? 'dropped' : 'done';
  });
}

function stillFresh(copy: RecentCopy | undefined): LoadedDelivery | undefined {
  return copy && performance.now() < copy.untilMs ? copy.loaded : undefined;
}

/** Waits for all, even if one fails. Rejects with the first reason. */
async function settleAll(all: readonly Promise<void>[]): Promise<void> {
  const broken = (await Promise.allSettled(all)).find((result) => result.status === 'rejected');
  if (broken) throw broken.reason;
}
