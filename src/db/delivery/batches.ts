import type { Ledger } from './ledger.js';
import type { Batch } from './tick.js';

/** What names a batch. `createtime` is text as PostgreSQL writes it, exact to the microsecond. */
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
  /** The tenant's schema. */
  readonly schema: string;
  /** Another worker was here already. */
  readonly done: boolean;
  readonly events: readonly OutboxEvent[];
  /** The enabled ones. */
  readonly rules: readonly EmailRule[];
}

/** @returns undefined when the batch, or its tenant, is gone. */
export async function loadBatch(ledger: Ledger, key: BatchKey): Promise<LoadedBatch | undefined> {
  const rows = await ledger.query<LoadedBatch>(LOAD, [key.batchid, key.createtime]);
  return rows[0];
}

const LOAD = {
  name: 'batch_load',
  text: `
    select t.schema,
      exists (select from rowpost.relay_batch_done f where f.batchid = b.batchid and f.createtime = b.createtime) as done,
      coalesce((select json_agg(json_build_object('eventid', o.eventid::text, 'operation', o.operation,
          'target', o.target) order by o.eventid)
        from rowpost.outbox o where o.eventid = any (b.eventids) and o.time between b.mintime and b.maxtime), '[]') as events,
      coalesce((select json_agg(json_build_object('ruleid', r.ruleid::text, 'operations', r.operations,
          'targets', r.targets, 'condition', r.condition) order by r.ruleid)
        from rowpost.email_rule r where r.tenantid = b.tenantid and r.enabled), '[]') as rules
    from rowpost.relay_batch b join rowpost.tenant t using (tenantid)
    where b.batchid = $1::bigint and b.createtime = $2::timestamptz and t.schema is not null`,
};

/** The rows of an event before and after, as JSON texts; null where there is none. */
export interface EventRecords {
  readonly eventid: string;
  readonly old: string | null;
  readonly new: string | null;
}

/** Records of some events of a batch, in the order of `eventids`. */
export async function loadEventRecords(
  ledger: Ledger,
  key: BatchKey,
  eventids: readonly string[],
): Promise<readonly EventRecords[]> {
  return ledger.query<EventRecords>(RECORDS, [key.batchid, key.createtime, eventids]);
}

const RECORDS = {
  name: 'batch_records',
  text: `
    select o.eventid::text as eventid, o.old::text as old, o.new::text as new
    from rowpost.relay_batch b join rowpost.outbox o on o.time between b.mintime and b.maxtime
    where b.batchid = $1::bigint and b.createtime = $2::timestamptz and o.eventid = any ($3::bigint[])
    order by array_position($3::bigint[], o.eventid)`,
};

/** A delivery to record: an event and a rule that matches it, or whose condition can't be evaluated. */
export interface Match {
  readonly eventid: string;
  readonly ruleid: string;
  /** Why nothing can be sent: the delivery is `failed` from the start. */
  readonly failure?: { readonly code: string; readonly message: string };
}

/** What names a delivery. `createtime` is text as PostgreSQL writes it, exact to the microsecond. */
export interface DeliveryKey {
  readonly tenantid: number;
  readonly deliveryid: string;
  readonly createtime: string;
}

/**
 * Records a batch's deliveries and that it is done, as one statement. A delivery that another worker recorded
 * meanwhile stays as it is. @returns the new ones that wait to be sent.
 */
export async function closeBatch(
  ledger: Ledger,
  key: BatchKey,
  matches: readonly Match[],
): Promise<readonly DeliveryKey[]> {
  return ledger.query<DeliveryKey>(CLOSE, [
    key.batchid,
    key.createtime,
    matches.map((match) => match.eventid),
    matches.map((match) => match.ruleid),
    matches.map((match) => match.failure?.code ?? null),
    matches.map((match) => match.failure?.message ?? null),
  ]);
}

// Nobody waits for the disk: a crash takes back the deliveries and that the batch is done. What comes before a mail is
// on disk, since the start of sending waits for it, and a disk writes in order.
const CLOSE = {
  name: 'batch_close',
  text: `
    with batch as materialized (
      select *, set_config('synchronous_commit', 'off', true) from rowpost.relay_batch where batchid = $1::bigint and createtime = $2::timestamptz
    ), done as (
      insert into rowpost.relay_batch_done (batchid, createtime) select batchid, createtime from batch
      on conflict do nothing
    ), recorded as (
      insert into rowpost.delivery (tenantid, eventid, ruleid, email_type, operation, target, key, delivery,
        createtime, state, error_code, error, tracked)
      select o.tenantid, o.eventid, r.ruleid, r.email_type, o.operation, o.target, o.key, r.delivery, o.time,
        case when m.code is null then 'pending' else 'failed' end, m.code, m.message, m.code is not null
      from unnest($3::bigint[], $4::bigint[], $5::text[], $6::text[])
          with ordinality as m(eventid, ruleid, code, message, position)
        cross join batch b
        join rowpost.outbox o on o.eventid = m.eventid and o.time between b.mintime and b.maxtime
        join rowpost.email_rule r on r.ruleid = m.ruleid and r.tenantid = b.tenantid
      order by m.position
      on conflict (eventid, ruleid, createtime) do nothing
      returning tenantid, deliveryid, createtime, state
    )
    select tenantid, deliveryid::text as deliveryid, createtime::text as createtime
    from recorded where state = 'pending' order by recorded.deliveryid`,
};

/**
 * Batches that are not done, oldest first, from `fromBatchid` on: lost between commit and queue, or still waiting
 * there. Batches younger than `minAgeMs` are on their way.
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

// Batch ids are given under the tick's lock, so their order is that of commits: below an old one nothing new appears.
const OPEN = {
  name: 'batch_open',
  text: `
    with aged as materialized (
      select b.batchid, b.tenantid, b.eventids, b.createtime, d.batchid is null as open
      from rowpost.relay_batch b
        left join rowpost.relay_batch_done d on d.batchid = b.batchid and d.createtime = b.createtime
      where b.batchid >= $1::bigint and b.createtime < now() - $2::int * interval '1 ms'
    ), open as (
      select * from aged where open order by batchid limit $3::int
    )
    select coalesce((select json_agg(json_build_object('batchid', batchid::text, 'tenantid', tenantid,
        'events', cardinality(eventids), 'createtime', createtime::text) order by batchid) from open), '[]') as batches,
      coalesce((select min(batchid) from open), (select max(batchid) from aged), $1::bigint)::text as next_from`,
};

/** Which of the batches are done. */
export async function doneBatches(ledger: Ledger, batchids: readonly string[]): Promise<ReadonlySet<string>> {
  const rows = await ledger.query<{ batchid: string }>(DONE, [batchids]);
  return new Set(rows.map((row) => row.batchid));
}

const DONE = {
  name: 'batch_done',
  text: `select batchid::text as batchid from rowpost.relay_batch_done where batchid = any ($1::bigint[])`,
};
