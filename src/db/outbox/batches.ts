import type { Ledger } from '../pool/ledgerPool.js';
import { EVENTS_OF_BATCH } from './batchEventsSql.js';
import { LOW_WATER_SQL, NOT_DONE } from './lowWaterMark.js';
import { fittingSql, quickRecordColumnsSql, recordColumnsSql } from './recordSize.js';
import { sql, statement, toText, type Sql } from '../sql/sql.js';

/** Identifies a batch. Times are PostgreSQL text, exact to the microsecond. */
export interface BatchKey {
  readonly tenantid: number;
  readonly batchid: string;
  readonly createtime: string;
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
  readonly tenantid: number;
  /** The tenant's schema. */
  readonly schema: string;
  /** Another worker has closed it already. */
  readonly done: boolean;
  readonly ageMs: number;
  readonly events: readonly OutboxEvent[];
  /** Enabled rules only. */
  readonly rules: readonly EmailRule[];
}

/** @returns undefined when the batch no longer exists, or its tenant is not here. */
export async function loadBatch(ledger: Ledger, key: BatchKey): Promise<LoadedBatch | undefined> {
  const rows = await ledger.query<LoadedBatch>(LOAD, [key.batchid, key.createtime]);
  return rows[0];
}

const LOAD = {
  name: 'batch_load',
  text: statement`
    select b.tenantid, t.schema, extract(epoch from now() - b.createtime)::float8 * 1000 as "ageMs",
      exists (select from rowpost.relay_batch_done f where f.batchid = b.batchid and f.createtime = b.createtime) as done,
      coalesce((select json_agg(json_build_object('eventid', o.eventid::text, 'operation', o.operation,
          'target', o.target) order by o.eventid)
        from rowpost.outbox o where ${EVENTS_OF_BATCH} and o.eventid = any (b.eventids)), '[]') as events,
      coalesce((select json_agg(json_build_object('ruleid', r.ruleid::text, 'operations', r.operations,
          'targets', r.targets, 'condition', r.condition) order by r.ruleid)
        from rowpost.email_rule r where r.tenantid = b.tenantid and r.enabled), '[]') as rules
    from rowpost.relay_batch b join rowpost.tenant t using (tenantid)
    where b.batchid = $1::bigint and b.createtime = $2::timestamptz and t.schema is not null and t.moved_to is null`,
};

/** The row before and after an event, as JSON text; null where there is none. */
export interface EventRecords {
  readonly eventid: string;
  readonly old: string | null;
  readonly new: string | null;
  /** Over the size limit: `old` or `new` is null because of that. */
  readonly isTooLarge: boolean;
}

export interface QuickRecords extends EventRecords {
  /** Bytes of `old` and `new` if they are large and have to be loaded by `loadLargeRecords`, otherwise 0. */
  readonly recordBytes: number;
}

/** Records of a batch's events in the order of `eventids`: the longest prefix that fits the memory budget, at least one. */
export async function loadEventRecords(
  ledger: Ledger,
  key: BatchKey,
  eventids: readonly string[],
): Promise<readonly QuickRecords[]> {
  return ledger.query<QuickRecords>(RECORDS, [key.batchid, key.createtime, eventids]);
}

/** @returns the event's records, or none if it is past retention */
export async function loadLargeRecords(
  ledger: Ledger,
  key: BatchKey,
  eventid: string,
): Promise<readonly EventRecords[]> {
  return ledger.query<EventRecords>(LARGE_RECORDS, [key.batchid, key.createtime, [eventid]]);
}

const recordsSql = (columns: Sql): Sql => sql`
  select o.eventid::text as eventid, ${columns}, w.position
  from rowpost.relay_batch b cross join unnest($3::bigint[]) with ordinality as w(eventid, position)
    cross join lateral (select o.eventid, o.old, o.new from rowpost.outbox o
      where ${EVENTS_OF_BATCH} and o.eventid = w.eventid limit 1) o
  where b.batchid = $1::bigint and b.createtime = $2::timestamptz`;

const RECORDS = {
  name: 'batch_records',
  text: toText(
    fittingSql(
      sql`eventid, old, new, "isTooLarge", "recordBytes"`,
      recordsSql(quickRecordColumnsSql(sql`o`)),
    ),
  ),
};

const LARGE_RECORDS = { name: 'batch_large_records', text: toText(recordsSql(recordColumnsSql(sql`o`))) };

/** Events of one tenant that a worker evaluates in one job. */
export interface Batch extends BatchKey {
  /** Number of events. */
  readonly events: number;
}

/**
 * Batches that are not done: lost between commit and queue, or still queued. If there are more than the limit, the oldest of each
 * tenant, as many of one as of another: one with a backlog must not hide what others lost. Skips batches younger than `minAgeMs`,
 * which are still on their way. Moves the low-water mark up.
 */
export async function openBatches(
  ledger: Ledger,
  range: { readonly minAgeMs: number; readonly limit: number },
): Promise<readonly Batch[]> {
  const rows = await ledger.query<{ batches: Batch[] }>(OPEN, [range.minAgeMs, range.limit]);
  return rows[0]?.batches ?? [];
}

/** SQL: rows as a JSON array of `Batch`, by id. */
export const batchesJson = (rows: Sql): Sql => sql`
  coalesce((select json_agg(json_build_object('batchid', batchid::text, 'tenantid', tenantid, 'events', events,
    'createtime', createtime::text) order by batchid) from ${rows}), '[]')`;

// Batch ids are assigned under the relay's lock, hence in commit order: no batch appears below an older one later. The
// mark commits asynchronously, after the batches that it passes over.
const OPEN = {
  name: 'batch_open',
  text: statement`
    with ${LOW_WATER_SQL}, recent as materialized (
      select b.batchid, b.tenantid, cardinality(b.eventids) as events, b.createtime, ${NOT_DONE} as open
      from rowpost.relay_batch b where b.batchid >= (select from_batchid from low_water)
    ), next as materialized (
      select coalesce((select min(batchid) from recent where open), (select max(batchid) from recent), 0) as batchid
    ), moved as (
      insert into rowpost.relay_batch_mark (batchid)
      select batchid from next, low_water
      where batchid <> mark and set_config('synchronous_commit', 'off', true) is not null
    ), due as (
      select * from recent where open and createtime < now() - $1::int * interval '1 ms'
      order by row_number() over (partition by tenantid order by batchid), batchid limit $2::int
    )
    select ${batchesJson(sql`due`)} as batches`,
};

/** @returns which of the batches are done, or do not exist: the database may have gone back in time since they did */
export async function endedBatches<Key extends Pick<Batch, 'batchid' | 'createtime'>>(
  ledger: Ledger,
  batches: readonly Key[],
): Promise<readonly Key[]> {
  const rows = await ledger.query<{ position: number }>(STILL_OPEN, [
    batches.map(({ batchid }) => batchid),
    batches.map(({ createtime }) => createtime),
  ]);
  const open = new Set(rows.map(({ position }) => position));
  return batches.filter((_, index) => !open.has(index + 1));
}

const STILL_OPEN = {
  name: 'batch_still_open',
  text: statement`
    select w.position::int as position
    from unnest($1::bigint[], $2::timestamptz[]) with ordinality as w(batchid, createtime, position)
    where (select b.batchid from rowpost.relay_batch b
      where b.batchid = w.batchid and b.createtime = w.createtime and ${NOT_DONE}) is not null`,
};
