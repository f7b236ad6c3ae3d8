import { timesOf, type BatchKey, type DeliveryKey } from './batches.js';
import { CLOSE, CLOSE_PLAIN } from './closeBatchSql.js';
import type { Ledger } from '../connection/ledger.js';
import { toDelivery, type LoadedDelivery, type LoadedRow } from './loadDeliveries.js';
import { AHEAD_SECONDS } from './turns.js';

/** A delivery to record: an event and a rule that matches it, or whose condition can't be evaluated. */
export interface Match {
  readonly eventid: string;
  readonly ruleid: string;
  /** Why nothing can be sent: the delivery is `failed` from the start. */
  readonly failure?: { readonly code: string; readonly message: string };
}

/** What holds a tenant's mail back. Zero for no limit. */
export interface DeliveryLimits {
  /** Most times that a rule fires for one record within a minute. */
  readonly firesPerMinute: number;
  /** Most emails of one tenant in a second. */
  readonly emailsPerSecond: number;
}

/** What a batch has become. */
export interface ClosedBatch {
  /** New deliveries that can be sent now. */
  readonly ready: readonly ReadyDelivery[];
  /** New deliveries whose turn comes within seconds. The relay sees to those whose turn comes later. */
  readonly soon: readonly (DeliveryKey & { readonly delayMs: number })[];
  /** Rules that fire for one record again and again: their deliveries are skipped. */
  readonly trips: readonly Trip[];
}

/** What was recorded comes with it as `loadDeliveries` reads it, when the batch is small: it would be the next statement. */
export type ReadyDelivery = DeliveryKey & { readonly loaded?: LoadedDelivery };

export interface Trip {
  readonly ruleid: string;
  readonly target: string;
  /** JSON text. */
  readonly key: string;
  /** Deliveries of this batch that are skipped. */
  readonly skipped: number;
}

/**
 * Records a batch's deliveries and that it is done, as one statement. Of several workers with the same batch, one
 * records; the others find nothing left.
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
 * The same for a batch whose rules have no conditions: they are matched in the statement that records.
 * @returns undefined when no delivery was recorded: a rule has a condition, or the batch was done already, say
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
  limits.firesPerMinute,
  limits.emailsPerSecond,
  MAX_LOADED,
  ...timesOf(key),
];

function toClosed(rows: readonly ClosedRow[]): ClosedBatch {
  const pending = rows.filter((row) => row.state === 'pending');
  return {
    ready: pending.filter((row) => row.delayMs === 0).map(toReady),
    soon: pending
      .filter((row) => row.delayMs > 0 && row.delayMs <= AHEAD_SECONDS * 1000)
      .map((row) => ({ ...keyOf(row), delayMs: row.delayMs })),
    trips: tripsOf(rows.filter((row) => row.state === 'skipped')),
  };
}

/** Where it is not loaded, what a delivery holds of its event, its rule and its tenant is null. */
interface ClosedRow extends LoadedRow {
  isLoaded: boolean;
  delayMs: number;
  ruleid: string;
  key: string;
}

const keyOf = ({ tenantid, deliveryid, createtime }: DeliveryKey): DeliveryKey => ({
  tenantid,
  deliveryid,
  createtime,
});

function toReady(row: ClosedRow): ReadyDelivery {
  return row.isLoaded ? { ...keyOf(row), loaded: toDelivery(row) } : keyOf(row);
}

function tripsOf(rows: readonly ClosedRow[]): readonly Trip[] {
  const trips = new Map<string, Trip>();
  for (const { ruleid, target, key } of rows) {
    const name = JSON.stringify([ruleid, target, key]);
    trips.set(name, { ruleid, target, key, skipped: (trips.get(name)?.skipped ?? 0) + 1 });
  }
  return [...trips.values()];
}

/** Deliveries of a larger batch wait for a slot before they are loaded: their records together may be large. */
const MAX_LOADED = 8;
