import type { Ledger } from '../connection/ledger.js';

/** What happened to a mail after it was sent, as the provider reports it. All texts can be stored. */
export interface MailEvent {
  readonly deliveryid: string;
  /** The provider's own name of the event: the same when it is reported again. */
  readonly providerEventId: string;
  readonly event: string;
  /** ISO 8601 */
  readonly time: string;
  readonly recipient: string | null;
  readonly reason: string | null;
  readonly status: string | null;
  /** Of a bounce: `bounce` or `blocked`. */
  readonly type: string | null;
  readonly url: string | null;
  /** What is to get no more mail because of this event. */
  readonly suppress: { readonly address: string; readonly source: 'bounce' | 'spamreport' } | null;
}

/** What became of the events of one report. */
export interface RecordedEvents {
  readonly recorded: number;
  /** Known already. */
  readonly repeated: number;
  /** The tenant has no such delivery: it is another tenant's, another installation's, or older than what is kept. */
  readonly foreign: number;
}

/**
 * Writes the events of one report down, each once, and suppresses the addresses that bounced or complained, as one
 * statement. Reported again, in whatever order, they change nothing: also an address that was taken off the list after
 * its event stays off.
 */
export async function recordMailEvents(
  ledger: Ledger,
  tenantid: number,
  events: readonly MailEvent[],
): Promise<RecordedEvents> {
  if (events.length === 0) return { recorded: 0, repeated: 0, foreign: 0 };
  const flat = events.map(({ suppress, ...event }) => ({
    ...event,
    address: suppress?.address ?? null,
    source: suppress?.source ?? null,
  }));
  const rows = await ledger.query<{ placed: number; recorded: number }>(RECORD, [
    tenantid,
    JSON.stringify(flat),
  ]);
  const { placed, recorded } = rows[0] ?? { placed: 0, recorded: 0 };
  return { recorded, repeated: placed - recorded, foreign: events.length - placed };
}

// Looked up one by one, whatever the planner believes of a partition that has just been filled. Sorted, so that two reports with the same events wait for each other instead of both failing.
const RECORD = {
  name: 'mail_events_record',
  text: `
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
      returning deliveryid
    ), suppressed as (
      insert into rowpost.email_suppression as s (tenantid, address, reason, source, deliveryid, createtime)
      select distinct on (address) $1::int, address, reason, source, deliveryid, time
      from placed where address is not null order by address, time desc
      on conflict (tenantid, address) do update
      set reason = excluded.reason, source = excluded.source, deliveryid = excluded.deliveryid, creatorid = null,
        createtime = excluded.createtime, removetime = null
      where s.removetime < excluded.createtime
    )
    select (select count(*)::int from placed) as placed, (select count(*)::int from recorded) as recorded`,
};
