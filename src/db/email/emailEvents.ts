import type { Ledger } from '../pool/ledgerPool.js';
import { UNSUBSCRIBED } from './suppressions.js';
import { statement, textConstant } from '../sql/sql.js';
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
}

/**
 * Records each event of a report once, suppresses addresses that bounced or complained and unsubscribes those that asked for
 * it, in one statement. Idempotent in any order: an address removed from a list after its event stays off it.
 */
export async function recordEmailEvents(
  ledger: Ledger,
  tenantid: number,
  events: readonly EmailEvent[],
): Promise<RecordedEvents> {
  if (events.length === 0) return { recorded: new Map(), repeated: 0, foreign: 0 };
  const flat = events.map(({ suppress, ...event }) => ({
    ...event,
    address: suppress?.address ?? null,
    source: suppress?.source ?? null,
  }));
  const rows = await ledger.query<{ event: string; placed: number; recorded: number }>(RECORD, [
    tenantid,
    toPostgresJson(flat),
  ]);
  const total = (column: 'placed' | 'recorded'): number => rows.reduce((sum, row) => sum + row[column], 0);
  return {
    recorded: new Map(rows.map(({ event, recorded }) => [event, recorded])),
    repeated: total('placed') - total('recorded'),
    foreign: events.length - total('placed'),
  };
}

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
    ), recorded as (
      insert into rowpost.email_event (tenantid, deliveryid, provider_event_id, event, time, recipient, reason, status,
        type, url, createtime)
      select $1::int, deliveryid, "providerEventId", event, time, recipient, reason, status, type, url, createtime
      from placed order by deliveryid, "providerEventId", time
      on conflict do nothing
      returning deliveryid, provider_event_id, event
    ), suppressed as (
      insert into rowpost.email_suppression as s (tenantid, address, reason, source, deliveryid, createtime)
      -- Not of a report that comes again: the address may have been removed since.
      select distinct on (p.address) $1::int, p.address, p.reason, p.source, p.deliveryid, p.time
      from placed p join recorded r on r.deliveryid = p.deliveryid and r.provider_event_id = p."providerEventId"
      where p.address is not null and p.source <> ${textConstant(UNSUBSCRIBED)} order by p.address, p.time desc
      on conflict (tenantid, address) do update
      set reason = excluded.reason, source = excluded.source, deliveryid = excluded.deliveryid, creatorid = null,
        createtime = excluded.createtime, removetime = null
      where s.removetime < excluded.createtime
    ), unsubscribed as (
      insert into rowpost.email_unsubscribe as u (tenantid, address, all_types, source, createtime)
      select distinct on (p.address) $1::int, p.address, true, 'carrier', p.time
      from placed p join recorded r on r.deliveryid = p.deliveryid and r.provider_event_id = p."providerEventId"
      where p.source = ${textConstant(UNSUBSCRIBED)} order by p.address, p.time
      on conflict (tenantid, address) do update set all_types = true where not u.all_types
    )
    select event, count(*)::int as placed, (select count(*)::int from recorded r where r.event = p.event) as recorded
    from placed p group by event`,
};
