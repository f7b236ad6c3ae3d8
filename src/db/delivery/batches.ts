import type { Ledger } from '../connection/ledger.js';
import { isTooLargeSql, MAX_RECORD_BYTES, recordTextSql } from './recordSize.js';
import type { Batch } from './tick.js';

/** Identifies a batch. Times are PostgreSQL text, exact to the microsecond. */
export interface BatchKey {
  readonly tenantid: number;
  readonly batchid: string;
  readonly createtime: string;
  /** Times of its first and last event, for partition pruning. Absent in jobs queued by an older release. */
  readonly mintime?: string;
  readonly maxtime?: string;
}

/** The times of a batch's first and last event, unbounded where unknown; see `timeRange`. */
export function timesOf(key: BatchKey): readonly [first: string, last: string] {
  return [key.mintime ?? '-infinity', key.maxtime ?? 'infinity'];
}

/** A committed change that some rule of its tenant may match. */
export interface OutboxEvent {
  readonly eventid: string;
  readonly operation: string;
  readonly target: string;
}

/** A rule as it stands when the batch is evaluated. */
export interface EmailRule {
  readonly ruleid: string;
  readonly operations: readonly string[];
  readonly targets: readonly string[];
  /** Filter expression over `new.` and `old.`, or null for every event. */
  readonly condition: string | null;
}

export interface LoadedBatch {
  /** The tenant's schema. */
  readonly schema: string;
  /** Another worker has closed it already. */
  readonly done: boolean;
  readonly events: readonly OutboxEvent[];
  /** Enabled rules only. */
  readonly rules: readonly EmailRule[];
}

/** @returns undefined when the batch or its tenant no longer exists. */
export async function loadBatch(ledger: Ledger, key: BatchKey): Promise<LoadedBatch | undefined> {
  const rows = await ledger.query<LoadedBatch>(LOAD, [key.batchid, key.createtime, ...timesOf(key)]);
  return rows[0];
}

const LOAD = {
  name: 'batch_load',
  text: `
    select t.schema,
      exists (select from rowpost.relay_batch_done f where f.batchid = b.batchid and f.createtime = b.createtime) as done,
      coalesce((select json_agg(json_build_object('eventid', o.eventid::text, 'operation', o.operation,
          'target', o.target) order by o.eventid)
        from rowpost.outbox o where o.eventid = any (b.eventids) and o.time between b.mintime and b.maxtime
          and o.time between $3::timestamptz and $4::timestamptz), '[]') as events,
      coalesce((select json_agg(json_build_object('ruleid', r.ruleid::text, 'operations', r.operations,
          'targets', r.targets, 'condition', r.condition) order by r.ruleid)
        from rowpost.email_rule r where r.tenantid = b.tenantid and r.enabled), '[]') as rules
    from rowpost.relay_batch b join rowpost.tenant t using (tenantid)
    where b.batchid = $1::bigint and b.createtime = $2::timestamptz and t.schema is not null`,
};

/** The row before and after an event, as JSON text; null where there is none. */
export interface EventRecords {
  readonly eventid: string;
  readonly old: string | null;
  readonly new: string | null;
  /** Over the size limit: `old` or `new` is null because of that. */
  readonly isTooLarge: boolean;
}

/** Records of a batch's events in the order of `eventids`: the longest prefix that fits the memory budget, at least one. */
export async function loadEventRecords(
  ledger: Ledger,
  key: BatchKey,
  eventids: readonly string[],
): Promise<readonly EventRecords[]> {
  return ledger.query<EventRecords>(RECORDS, [key.batchid, key.createtime, eventids, ...timesOf(key)]);
}

const RECORDS = {
  name: 'batch_records',
  text: `
    select eventid, old, new, "isTooLarge" from (
      select *, sum(coalesce(octet_length(old), 0) + coalesce(octet_length(new), 0)) over (order by position) as bytes,
        row_number() over (order by position) as number
      from (
    select o.eventid::text as eventid, ${recordTextSql('o.old')} as old, ${recordTextSql('o.new')} as new,
      ${isTooLargeSql('o.old')} or ${isTooLargeSql('o.new')} as "isTooLarge", array_position($3::bigint[], o.eventid) as position
    from rowpost.relay_batch b join rowpost.outbox o on o.time between b.mintime and b.maxtime
      and o.time between $4::timestamptz and $5::timestamptz
    where b.batchid = $1::bigint and b.createtime = $2::timestamptz and o.eventid = any ($3::bigint[])
      ) record
    ) sized
    where bytes <= ${2 * MAX_RECORD_BYTES} or number = 1 order by position`,
};

/** Identifies a delivery. `createtime` is PostgreSQL text, exact to the microsecond. */
export interface DeliveryKey {
  readonly tenantid: number;
  readonly deliveryid: string;
  readonly createtime: string;
}

/**
 * Batches that are not done, oldest first, from `fromBatchid` on: lost between commit and queue, or still queued.
 * Skips batches younger than `minAgeMs`, which are still on their way.
 */
export async function openBatches(
  ledger: Ledger,
  range: { readonly fromBatchid: string; readonly minAgeMs: number; readonly limit: number },
): Promise<{ readonly batches: readonly Batch[]; readonly nextFrom: string }> {
  const rows = await ledger.query<{ batches: Batch[]; next_from: string }>(OPEN, [
    range.fromBatchid,
    range.minAgeMs,
    range.limit,
  ]);
  return { batches: rows[0]?.batches ?? [], nextFrom: rows[0]?.next_from ?? range.fromBatchid };
}

// Batch ids are assigned under the tick's lock, hence in commit order: no batch appears below an older one later.
const OPEN = {
  name: 'batch_open',
  text: `
    with aged as materialized (
      select b.batchid, b.tenantid, b.eventids, b.createtime, b.mintime, b.maxtime, d.batchid is null as open
      from rowpost.relay_batch b
        left join rowpost.relay_batch_done d on d.batchid = b.batchid and d.createtime = b.createtime
      where b.batchid >= $1::bigint and b.createtime < now() - $2::int * interval '1 ms'
    ), open as (
      select * from aged where open order by batchid limit $3::int
    )
    select coalesce((select json_agg(json_build_object('batchid', batchid::text, 'tenantid', tenantid,
        'events', cardinality(eventids), 'createtime', createtime::text, 'mintime', mintime::text,
        'maxtime', maxtime::text) order by batchid) from open), '[]') as batches,
      coalesce((select min(batchid) from open), (select max(batchid) from aged), $1::bigint)::text as next_from`,
};

export async function doneBatches(ledger: Ledger, batchids: readonly string[]): Promise<ReadonlySet<string>> {
  const rows = await ledger.query<{ batchid: string }>(DONE, [batchids]);
  return new Set(rows.map((row) => row.batchid));
}

const DONE = {
  name: 'batch_done',
  text: `select batchid::text as batchid from rowpost.relay_batch_done where batchid = any ($1::bigint[])`,
};
