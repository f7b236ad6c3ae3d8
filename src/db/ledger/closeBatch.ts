import type { BatchKey } from '../outbox/batches.js';
import { CLOSE, CLOSE_PLAIN } from './closeBatchSql.js';
import type { Ledger } from '../pool/ledgerPool.js';
import { knownDelivery, type KnownDelivery } from './deliveryKey.js';
import type { DueDelivery } from './dueDeliveries.js';
import type { LoadedDelivery } from './loadDeliveries.js';
import { QUEUE_AHEAD_SECONDS } from './rateLimitSlots.js';

/** A delivery to record: an event, and a rule that matches it or whose condition can't be evaluated. */
export interface Match {
  readonly eventid: string;
  readonly ruleid: string;
  /** Why nothing can be sent: the delivery is recorded as `failed`. */
  readonly failure?: { readonly code: string; readonly message: string };
}

/** Per-tenant limits. Zero means no limit. */
export interface DeliveryLimits {
  /** Maximum firings of one rule for one record per minute. */
  readonly firesPerMinute: number;
  /** Maximum emails of one tenant per second. */
  readonly emailsPerSecond: number;
}

/** Deliveries recorded for a batch. */
export interface ClosedBatch {
  /** New deliveries that can be sent now. */
  readonly ready: readonly ReadyDelivery[];
  /** New deliveries with a rate limit slot within seconds. The relay queues those with a later slot. */
  readonly soon: readonly DueDelivery[];
  /** Rules that fired in a loop for one record: the excess deliveries are skipped. */
  readonly trips: readonly Trip[];
}

/** For a small batch, each delivery comes preloaded as `loadDeliveries` reads it, which saves that statement. */
export type ReadyDelivery = KnownDelivery & { readonly loaded?: LoadedDelivery };

export interface Trip {
  readonly ruleid: string;
  readonly target: string;
  /** Deliveries of this batch that are skipped. */
  readonly skipped: number;
}

/**
 * Records a batch's deliveries and marks it done, in one statement. Of several workers with the same batch, one
 * records them; the others get an empty result. Deliveries get their ids and rate limit slots in the order of the changes.
 */
export async function closeBatch(
  ledger: Ledger,
  key: BatchKey,
  matches: readonly Match[],
  limits: DeliveryLimits,
): Promise<ClosedBatch> {
  const rows = await ledger.query<ClosedRow>(CLOSE, [
    ...valuesOf(key, limits),
    matches.map((match) => match.eventid),
    matches.map((match) => match.ruleid),
    matches.map((match) => match.failure?.code ?? null),
    matches.map((match) => match.failure?.message ?? null),
  ]);
  return toClosed(rows);
}

/**
 * As `closeBatch`, for rules without conditions: matching happens in the same statement.
 * @returns undefined when no delivery was recorded, e.g. a rule has a condition or the batch was done already
 */
export async function closePlainBatch(
  ledger: Ledger,
  key: BatchKey,
  limits: DeliveryLimits,
): Promise<ClosedBatch | undefined> {
  const rows = await ledger.query<ClosedRow>(CLOSE_PLAIN, valuesOf(key, limits));
  return rows.length === 0 ? undefined : toClosed(rows);
}

const valuesOf = (key: BatchKey, limits: DeliveryLimits): readonly unknown[] => [
  key.batchid,
  key.createtime,
  key.tenantid,
  limits.firesPerMinute,
  limits.emailsPerSecond,
  MAX_PRELOADED,
];

function toClosed(rows: readonly ClosedRow[]): ClosedBatch {
  const pending = rows.filter((row) => row.state === 'pending');
  return {
    ready: pending.filter((row) => row.delayMs === 0).map(toReady),
    soon: pending
      .filter((row) => row.delayMs > 0 && row.delayMs <= QUEUE_AHEAD_SECONDS * 1000)
      .map((row) => ({ delayMs: row.delayMs, ...knownDelivery(row) })),
    trips: tripsOf(rows.filter((row) => row.state === 'skipped')),
  };
}

/** Unless loaded, the columns of the event, the rule and the tenant are null. */
interface ClosedRow extends LoadedDelivery {
  delayMs: number;
}

function toReady(row: ClosedRow): ReadyDelivery {
  return row.eventid === null ? knownDelivery(row) : { loaded: row, ...knownDelivery(row) };
}

function tripsOf(rows: readonly ClosedRow[]): readonly Trip[] {
  const trips = new Map<string, Trip>();
  for (const { ruleid, target } of rows) {
    const name = `${ruleid} ${target}`;
    trips.set(name, { ruleid, target, skipped: (trips.get(name)?.skipped ?? 0) + 1 });
  }
  return [...trips.values()];
}

/** Deliveries of a larger batch are loaded once they have a slot: their records together may not fit in memory. */
const MAX_PRELOADED = 8;
