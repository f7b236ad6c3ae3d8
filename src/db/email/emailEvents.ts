import type { Ledger } from '../pool/ledgerPool.js';
import { UNSUBSCRIBED } from './suppressions.js';
import { sql, statement, textConstant } from '../sql/sql.js';
import { toPostgresJson } from '../../foundation/postgresText.js';

/** An event of a sent email, as reported by the carrier. All texts are storable. */
export interface EmailEvent {
  readonly deliveryid: string;
  /** The carrier's id of the event; the same when it is reported again. */
  readonly providerEventId: string;
  readonly event: string;
  /** ISO 8601 */
  readonly time: string;
  readonly recipient: string | null;
  readonly reason: string | null;
  readonly status: string | null;
  /** For a bounce: `bounce` or `blocked`. */
  readonly type: string | null;
  readonly url: string | null;
  /** The address that gets no more email because of this event: none at all, or none that can be unsubscribed from. */
  readonly suppress: {
    readonly address: string;
    readonly source: 'bounce' | 'spamreport' | typeof UNSUBSCRIBED;
  } | null;
}

/** Counts of one report's events by outcome. */
export interface RecordedEvents {
  /** By kind of event. */
  readonly recorded: ReadonlyMap<string, number>;
  /** Recorded before. */
  readonly repeated: number;
  /** The tenant has no such delivery: another tenant's, another installation's, or past retention. */
  readonly foreign: number;
  /** Not recorded: the delivery has as many events of the kind as it may. */
  readonly excess: number;
  /** None is recorded: the tenant's quota is used up. */
  readonly refused: number;
}

const NO_EVENTS: RecordedEvents = { recorded: new Map(), repeated: 0, foreign: 0, excess: 0, refused: 0 };

/** Of a delivery: twice as many as an email has recipients. What is opened more often than that says nothing new. */
const MAX_EVENTS_OF_KIND = 2_000;
/** What of a tenant is recorded in a day: so much, and more for each delivery of the last three days. An event takes about 300. */
export const EVENT_BYTES = 128 * 1024 * 1024;
const EVENT_BYTES_OF_DELIVERY = 4_096;

/**
 * Records each event of a report once, suppresses addresses that bounced or complained and unsubscribes those that asked for
 * it, in one statement. Idempotent in any order: an address removed from a list after its event stays off it.
 * @param quota in bytes, for what carriers report; null for what a worker has found out itself
 */
export async function recordEmailEvents(
  ledger: Ledger,
  tenantid: number,
  events: readonly EmailEvent[],
  quota: number | null,
): Promise<RecordedEvents> {
  if (events.length === 0) return NO_EVENTS;
  const flat = events.map(({ suppress, ...event }) => ({
    ...event,
    address: suppress?.address ?? null,
    source: suppress?.source ?? null,
  }));
  const rows = await ledger.query<Recorded>(RECORD, [tenantid, toPostgresJson(flat), quota]);
  const total = (column: 'placed' | 'kept' | 'recorded'): number =>
    rows.reduce((sum, row) => sum + row[column], 0);
  const foreign = events.length - total('placed');
  if (rows.some(({ isRefused }) => isRefused)) return { ...NO_EVENTS, foreign, refused: total('placed') };
  return {
    recorded: new Map(rows.map(({ event, recorded }) => [event, recorded])),
    repeated: total('kept') - total('recorded'),
    foreign,
    excess: total('placed') - total('kept'),
    refused: 0,
  };
}

/** How many of a kind. */
interface Recorded {
  event: string;
  placed: number;
  kept: number;
  recorded: number;
  isRefused: boolean;
}

export const TODAY = sql`(now() at time zone 'UTC')::date`;

/** SQL: the hours are counted within a minute. */
const OF_DELIVERIES = sql`${EVENT_BYTES_OF_DELIVERY} * (select coalesce(sum(c.deliveries), 0) from rowpost.delivery_count c
  where c.tenantid = $1::int and c.hour > now() - interval '3 days')`;
/** SQL, after `insert into rowpost.email_event_quota as q`: counts the bytes of tenant `$1`, unless they exceed its quota `$3`. */
export const COUNT_BYTES = sql`
      on conflict (tenantid, day) do update set bytes = q.bytes + excluded.bytes
      where q.bytes + excluded.bytes <= $3::bigint or q.bytes + excluded.bytes <= $3::bigint + ${OF_DELIVERIES}`;

// The lateral `limit 1` forces an index lookup even when a partition that has just been filled has stale statistics.
// Sorted, so that two reports with the same events wait for each other instead of deadlocking.
const RECORD = {
  name: 'email_events_record',
  text: statement`
    with given as materialized (
      select * from json_to_recordset($2::json) as g(deliveryid bigint, "providerEventId" text, event text,
        time timestamptz, recipient text, reason text, status text, type text, url text, address text, source text)
    ), placed as materialized (
      select g.*, d.createtime
      from given g cross join lateral (
        select createtime from rowpost.delivery where tenantid = $1::int and deliveryid = g.deliveryid limit 1) d
    ), numbered as materialized (
      select p.*, row_number() over (partition by deliveryid, event order by time, "providerEventId") as number from placed p
    ), kept as materialized (
      select * from (
        -- Looked up once for each delivery and kind.
        select n.*, max(case when number = 1 then (select count(*) from (select from rowpost.email_event e
            where e.tenantid = $1::int and e.event = n.event and e.deliveryid = n.deliveryid and e.createtime = n.createtime
            limit ${MAX_EVENTS_OF_KIND}) e) end) over (partition by deliveryid, event) as known
        from numbered n) n
      where number + known <= ${MAX_EVENTS_OF_KIND}
    ), forgotten as (
      delete from rowpost.email_event_quota where tenantid = $1::int and day < ${TODAY} and $3::bigint is not null
    ), counted as (
      insert into rowpost.email_event_quota as q (tenantid, day, bytes)
      select $1::int, ${TODAY}, sum(octet_length(k::text)) from kept k
      having count(*) > 0 and $3::bigint is not null ${COUNT_BYTES}
      returning day
    ), recorded as (
      insert into rowpost.email_event (tenantid, deliveryid, provider_event_id, event, time, recipient, reason, status,
        type, url, createtime)
      select $1::int, deliveryid, "providerEventId", event, time, recipient, reason, status, type, url, createtime
      from kept where $3::bigint is null or exists (select from counted)
      order by deliveryid, "providerEventId", time
      on conflict do nothing
      returning deliveryid, provider_event_id, event
    ), addressed as materialized (
      -- Not of a report that comes again: the address may have been removed since. As a case, each is looked up by hash.
      select * from placed p where address is not null and case when (deliveryid, "providerEventId")
        in (select r.deliveryid, r.provider_event_id from recorded r) then true end
    ), suppressed as (
      insert into rowpost.email_suppression as s (tenantid, address, reason, source, deliveryid, createtime)
      select distinct on (p.address) $1::int, p.address, p.reason, p.source, p.deliveryid, p.time
      from addressed p
      where p.source <> ${textConstant(UNSUBSCRIBED)} order by p.address, p.time desc
      on conflict (tenantid, address) do update
      set reason = excluded.reason, source = excluded.source, deliveryid = excluded.deliveryid, creatorid = null,
        createtime = excluded.createtime, removetime = null
      where s.removetime < excluded.createtime
    ), unsubscribed as (
      insert into rowpost.email_unsubscribe as u (tenantid, address, all_types, source, createtime)
      select distinct on (p.address) $1::int, p.address, true, 'carrier', p.time
      from addressed p
      where p.source = ${textConstant(UNSUBSCRIBED)} order by p.address, p.time
      on conflict (tenantid, address) do update set all_types = true where not u.all_types
    )
    select event, count(*)::int as placed, (select count(*)::int from kept k where k.event = p.event) as kept,
      (select count(*)::int from recorded r where r.event = p.event) as recorded,
      $3::bigint is not null and exists (select from kept) and not exists (select from counted) as "isRefused"
    from placed p group by event`,
};
