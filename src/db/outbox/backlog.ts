import type { Ledger } from '../pool/ledgerPool.js';
import { IS_OPEN, LOW_WATER_SQL } from './lowWaterMark.js';
import { RECENT } from '../ledger/trackUnended.js';
import { NOT_ENDED } from '../ledger/track.js';
import { statement } from '../sql/sql.js';

/**
 * What is committed but not sent yet, by where it waits. Ages are in seconds, null when nothing is waiting: since the
 * change (the start of its transaction; PostgreSQL doesn't record when it committed), or since a retry, a rate limit slot
 * or a redrive became due.
 */
export interface Backlog {
  /** Committed events that no relay has read. */
  readonly unreadEvents: number;
  readonly unreadSeconds: number | null;
  /** Batches whose rules have not been evaluated. */
  readonly openBatches: number;
  /** Of tenants that are within their rate limit. */
  readonly openBatchSeconds: number | null;
  /** Deliveries that can be sent now or are being sent, except retries that have not begun. */
  readonly waiting: number;
  readonly waitingSeconds: number | null;
  /** Deliveries whose next attempt is due and has not begun. */
  readonly retries: number;
  readonly retrySeconds: number | null;
  /** Deliveries scheduled for later: backing off, or waiting for a rate limit. */
  readonly later: number;
  /** Deliveries of tenants that need a working key or credit. */
  readonly paused: number;
  /** (rule, record) pairs that tripped the loop guard in the last minutes, which has a row for each minute. */
  readonly loopsTripped: number;
  /** The tenants with the largest backlog of events and deliveries, without `later` and `paused`; largest first. */
  readonly tenants: readonly { readonly tenantid: number; readonly waiting: number }[];
}

/** Counts are capped, so that a backlog of millions takes milliseconds to read; ages are of the rows counted. */
const MAX_COUNTED = 20_000;
const MAX_TENANTS = 10;

// Each part reads an index from the position of the relay, the reconciler or the sweep. Transactions in progress at a
// snapshot are in its xip list, as in pollOutbox.ts and trackUnended.ts. If the cursor is ahead of this database, which then was restored
// from a dump, events are found by their time instead.
const BACKLOG = {
  name: 'backlog',
  text: statement`
  with ${LOW_WATER_SQL}, cursor_ as materialized (
    select pg_snapshot_xmax(t.snapshot) as xmax, array(select pg_snapshot_xip(t.snapshot)) as running, t.time,
      pg_snapshot_xmax(t.snapshot) > pg_snapshot_xmax(pg_current_snapshot()) as restored
    from rowpost.relay_poll t order by t.pollid desc limit 1
  ), unread as materialized (
    select * from (select o.tenantid, o.time as since from rowpost.outbox o
      where o.xid >= (select xmax from cursor_) and not (select restored from cursor_)
      order by o.xid limit ${MAX_COUNTED}) fresh
    union all
    select o.tenantid, o.time from rowpost.outbox o
    where o.xid = any ((select running from cursor_)::xid8[]) and not (select restored from cursor_)
    union all
    select * from (select o.tenantid, o.time from rowpost.outbox o
      where (select restored from cursor_) and o.time >= (select time from cursor_) limit ${MAX_COUNTED}) restored
  ), batches as materialized (
    select b.*, coalesce((select p.next_slot > now() from rowpost.email_pace p where p.tenantid = b.tenantid), false) as limited
    from (select b.tenantid, b.mintime as since, cardinality(b.eventids) as events from rowpost.relay_batch b
      where ${IS_OPEN}
      order by b.batchid limit ${MAX_COUNTED}) b
  ), swept as materialized (
    select array(select pg_snapshot_xip(s.since)) as running
    from rowpost.delivery_sweep s order by s.sweepid desc limit 1
  ), unended as materialized (
    select * from (select d.tenantid, d.state, greatest(d.createtime, d.next_attempt) as since
      from rowpost.delivery d where d.due is not null and d.tracked order by d.due limit ${MAX_COUNTED}) tracked
    union all
    select * from (select d.tenantid, d.state, greatest(d.createtime, d.next_attempt) from rowpost.delivery d
      where ${RECENT} and ${NOT_ENDED}
      order by d.xid limit ${MAX_COUNTED}) fresh
    union all
    select d.tenantid, d.state, greatest(d.createtime, d.next_attempt) from rowpost.delivery d
    where d.xid = any ((select running from swept)::xid8[]) and ${NOT_ENDED}
  ), grouped as materialized (
    -- One row per tenant and state, however many deliveries wait.
    select tenantid, state, since > now() as later, count(*)::int as items, min(since) as since
    from unended group by 1, 2, 3
  ), deliveries as materialized (
    select g.tenantid, g.items, greatest(g.since, k.wait_until) as since,
      case when g.state <> 'sending' and k.paused_code is not null then 'paused'
        when g.later or k.wait_until > now() then 'later'
        when g.state = 'retrying' then 'retry' else 'waiting' end as kind
    from grouped g left join rowpost.email_apikey k using (tenantid)
  ), tenants as (
    select tenantid, sum(items)::int as waiting from (
      select tenantid, count(*) as items from unread group by tenantid
      union all select tenantid, sum(events) from batches group by tenantid
      union all select tenantid, sum(items) from deliveries where kind in ('waiting', 'retry') group by tenantid
    ) parts group by tenantid order by 2 desc, 1 limit ${MAX_TENANTS}
  )
  select
    (select count(*)::int from unread) as "unreadEvents",
    (select extract(epoch from now() - min(since))::float8 from unread) as "unreadSeconds",
    (select count(*)::int from batches) as "openBatches",
    (select extract(epoch from now() - min(since))::float8 from batches where not limited) as "openBatchSeconds",
    (select coalesce(sum(items), 0)::int from deliveries where kind = 'waiting') as "waiting",
    (select extract(epoch from now() - min(since))::float8 from deliveries where kind = 'waiting') as "waitingSeconds",
    (select coalesce(sum(items), 0)::int from deliveries where kind = 'retry') as "retries",
    (select extract(epoch from now() - min(since))::float8 from deliveries where kind = 'retry') as "retrySeconds",
    (select coalesce(sum(items), 0)::int from deliveries where kind = 'later') as "later",
    (select coalesce(sum(items), 0)::int from deliveries where kind = 'paused') + (select count(*)::int from
      (select from rowpost.delivery where state = 'paused' limit ${MAX_COUNTED}) paused) as "paused",
    (select count(distinct (ruleid, record))::int from rowpost.rule_firing where tripped and createtime > now() - interval '5 minutes')
      as "loopsTripped",
    coalesce((select json_agg(json_build_object('tenantid', tenantid, 'waiting', waiting)) from tenants), '[]') as "tenants"`,
};

// A bitmap scan collects all waiting rows before it returns the first: 290 ms for 200,000 retries. An index scan stops after
// MAX_COUNTED.
const ORDERED = {
  name: 'backlog_ordered',
  text: statement`select set_config('enable_bitmapscan', 'off', true)`,
};

/** Index scans of bounded length: cheap enough to poll every few seconds. */
export async function readBacklog(ledger: Ledger): Promise<Backlog> {
  const [, rows] = await ledger.transaction([
    [ORDERED, []],
    [BACKLOG, []],
  ]);
  const [row] = rows as Backlog[];
  if (!row) throw new Error('the figures are one row');
  return row;
}
