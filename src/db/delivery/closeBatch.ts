import type { BatchKey, DeliveryKey } from './batches.js';
import type { Ledger } from './ledger.js';
import {
  TENANT_COLUMNS,
  tenantJoins,
  toDelivery,
  type LoadedDelivery,
  type LoadedRow,
} from './loadDeliveries.js';
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
    key.batchid,
    key.createtime,
    matches.map((match) => match.eventid),
    matches.map((match) => match.ruleid),
    matches.map((match) => match.failure?.code ?? null),
    matches.map((match) => match.failure?.message ?? null),
    limits.firesPerMinute,
    limits.emailsPerSecond,
    MOST_LOADED,
  ]);
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
const MOST_LOADED = 8;

/** Seconds after its turn at which a delivery is checked to be in the queue. */
const CHECK_SECONDS = 5;

// Nobody waits for the disk: a crash takes back the deliveries and that the batch is done. What comes before a mail is
// on disk, since the start of sending waits for it, and a disk writes in order.
//
// Firings are counted in rows that several workers lock in one order, by the minute in which the change was made: a
// backlog that is worked off in a moment trips nothing. Turns of a capped tenant are given out from one row of it.
const CLOSE = {
  name: 'batch_close',
  text: `
    with batch as materialized (
      select *, set_config('synchronous_commit', 'off', true)
      from rowpost.relay_batch where batchid = $1::bigint and createtime = $2::timestamptz
    ), done as (
      insert into rowpost.relay_batch_done (batchid, createtime) select batchid, createtime from batch
      on conflict do nothing
      returning batchid
    ), matched as materialized (
      select m.position, o.tenantid, o.eventid, r.ruleid, r.email_type, o.operation, o.target, o.key, r.delivery, o.time,
        r.query_roleid, case when cardinality($3::bigint[]) <= $9::int then o.old end as old,
        case when cardinality($3::bigint[]) <= $9::int then o.new end as new,
        case when cardinality($3::bigint[]) <= $9::int then o.file end as file,
        m.code, m.message, date_trunc('minute', o.time) as minute,
        hashtextextended(o.target || ' ' || o.key::text, 0) as record
      from unnest($3::bigint[], $4::bigint[], $5::text[], $6::text[])
          with ordinality as m(eventid, ruleid, code, message, position)
        cross join batch b
        join rowpost.outbox o on o.eventid = m.eventid and o.time between b.mintime and b.maxtime
        join rowpost.email_rule r on r.ruleid = m.ruleid and r.tenantid = b.tenantid
      where exists (select from done)
    ), fired as materialized (
      select minute, ruleid, record, count(*)::int as fires from matched
      where code is null and $7::int > 0 group by minute, ruleid, record
    ), counted as (
      insert into rowpost.rule_firing as c (createtime, ruleid, record, fired, tripped)
      select minute, ruleid, record, fires, fires > $7::int from fired order by minute, ruleid, record
      on conflict (createtime, ruleid, record) do update
      set fired = c.fired + excluded.fired, tripped = c.fired + excluded.fired > $7::int
      returning createtime as minute, ruleid, record, fired
    ), tripped as materialized (
      select minute, ruleid, record, $7::int - c.fired + f.fires as allowed
      from counted c join fired f using (minute, ruleid, record) where c.fired > $7::int
    ), judged as materialized (
      select m.*, t.ruleid is not null and m.code is null and t.allowed <
          row_number() over (partition by m.minute, m.ruleid, m.record, m.code is null order by m.position) as trips
      from matched m left join tripped t using (minute, ruleid, record)
    ), seated as materialized (
      select *, case when $8::int > 0 and code is null and not trips
        then count(*) filter (where code is null and not trips) over (order by position desc) end as before_last
      from judged
    ), paced as (
      insert into rowpost.email_pace as p (tenantid, next_slot)
      select b.tenantid, now() + interval '1 second' / nullif($8::int, 0) * s.turns
      from batch b, (select max(before_last) as turns from seated) s where s.turns > 0
      on conflict (tenantid) do update
      set next_slot = greatest(p.next_slot, now()) + (excluded.next_slot - now())
      returning next_slot
    ), placed as (
      select *, (select next_slot from paced) - interval '1 second' / nullif($8::int, 0) * before_last as slot
      from seated
    ), recorded as (
      insert into rowpost.delivery (tenantid, eventid, ruleid, email_type, operation, target, key, delivery,
        createtime, state, error_code, error, next_attempt, due, tracked)
      select tenantid, eventid, ruleid, email_type, operation, target, key, delivery, time,
        case when code is not null then 'failed' when trips then 'skipped' else 'pending' end,
        case when trips then 'LOOP_TRIPPED' else code end,
        case when trips then 'the rule fired more than ' || $7::int
          || ' times within a minute for this record; it goes on with the next minute' else message end,
        slot, case when slot > now() + interval '${AHEAD_SECONDS} seconds' then slot - interval '${AHEAD_SECONDS} seconds'
          when slot > now() then slot + interval '${CHECK_SECONDS} seconds' end,
        code is not null or trips or coalesce(slot > now(), false)
      from placed order by position
      on conflict (eventid, ruleid, createtime) do nothing
      returning tenantid, deliveryid, createtime, state, eventid, ruleid, email_type, operation, target, key, delivery,
        tracked, attempts, starts, next_attempt
    ), loaded as materialized (
      select tenantid, eventid, ruleid, query_roleid, old, new, file from matched where cardinality($3::bigint[]) <= $9::int
    )
    select d.tenantid, d.deliveryid::text as deliveryid, d.createtime::text as createtime, d.state, d.ruleid::text as ruleid,
      d.target, d.key::text as key,
      coalesce(greatest(ceil(extract(epoch from d.next_attempt - now()) * 1000), 0), 0)::float8 as "delayMs",
      l.eventid is not null as "isLoaded", d.tracked, d.attempts, d.starts, 0 as lost, d.delivery as policy, d.operation,
      d.email_type as "emailType", l.query_roleid as "queryRoleid", l.old::text as old, l.new::text as new,
      l.file::text as file, true as "hasEvent", ${TENANT_COLUMNS}
    from recorded d left join loaded l on l.eventid = d.eventid and l.ruleid = d.ruleid
      ${tenantJoins('l.tenantid')}
    where d.state in ('pending', 'skipped') order by d.deliveryid`,
};
