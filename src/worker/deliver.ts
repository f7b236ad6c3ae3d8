import type { KnownDelivery } from '../db/ledger/deliveryKey.js';
import type { ReadyDelivery } from '../db/ledger/closeBatch.js';
import type { LoadedDelivery } from '../db/ledger/loadDeliveries.js';
import type { Span } from '../foundation/observability/tracing/tracing.js';
import { attempt } from './attempt.js';
import type { DeliverDeps } from './deliverDeps.js';

/** A delivery that waited longer for a slot is reloaded: its tenant may have been paused meanwhile, and its record takes memory. */
const FRESH_MS = 100;
/** Consecutive attempts ended by a crash that make a delivery a suspect. */
const SUSPECT_AFTER = 2;

/**
 * A delivery in a worker: claim → slot → load → attempt. A suspect gives its slot up and waits for the other suspects instead.
 * @param redelivered whether an earlier worker started the same job and died
 * @param batch the span of the batch that it has just been recorded for
 */
export async function deliver(
  deps: DeliverDeps,
  { loaded, ...job }: ReadyDelivery,
  redelivered: boolean,
  batch?: Span,
): Promise<void> {
  const { claimed, slots, suspects } = deps;
  await claimed.claim(job, async () => {
    const forget = loaded && setTimeout(() => (loaded = undefined), FRESH_MS);
    const end = await slots.run(job.tenantid, async (giveUpSlot) => {
      clearTimeout(forget);
      const delivery = await loadOpen(deps, job, loaded);
      if (delivery && delivery.lost >= SUSPECT_AFTER) return 'suspect';
      if (delivery) await attempt(deps, delivery, { redelivered, batch, onWait: giveUpSlot });
      return 'done';
    });
    if (end === 'suspect') {
      await suspects.run(job.tenantid, async () => {
        const delivery = await loadOpen(deps, job);
        if (delivery) await attempt(deps, delivery, { redelivered });
      });
    }
    return end === undefined ? 'dropped' : 'done';
  });
}

/**
 * The delivery, unless it has moved on since: a job is a hint.
 * @param recent a recent copy: if it is stale, the start is refused
 */
async function loadOpen(
  { ledger }: DeliverDeps,
  job: KnownDelivery,
  recent?: LoadedDelivery,
): Promise<LoadedDelivery | undefined> {
  const delivery = recent ?? (await ledger.load(job));
  if (delivery?.starts !== job.starts) return undefined;
  return delivery.state === 'pending' || delivery.state === 'retrying' ? delivery : undefined;
}
