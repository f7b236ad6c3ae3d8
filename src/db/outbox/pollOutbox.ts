import type { Ledger } from '../pool/ledgerPool.js';
import { batchedSql } from './batchEventsSql.js';
import { batchesJson, type Batch } from './batches.js';
import { sql, statement } from '../sql/sql.js';

/** Nothing of all this when another relay holds the lock. */
export interface Poll {
  /** Events that became visible since the previous poll, with or without a matching rule. */
  readonly events: number;
  /** Interleaved round-robin by tenant. */
  readonly batches: readonly Batch[];
  /** There are more events than fit into one poll. */
  readonly more: boolean;
  /** The cursor is ahead of this database, which was restored from a dump. See `adoptRestoredDump`. */
  readonly restored: boolean;
}

export interface PollLimits {
  /** Maximum events per batch. */
  readonly batchEvents: number;
  /** Maximum events per poll, so that a long backlog is read in statements of bounded duration. */
  readonly pollEvents: number;
}

/**
 * Batches the events that became visible since the last poll. Commit order is not id order, so events are found by
 * snapshot: new events are visible to this statement and were not to the last poll's snapshot. A long-running writer is
 * in that snapshot's xip list and does not widen the scanned range.
 */
export async function pollOutbox(ledger: Ledger, limits: PollLimits): Promise<Poll> {
  // Two statements: the second one's snapshot is taken under the lock, so it sees the other relay's last poll.
  const [, rows] = await ledger.transaction([
    [LOCK, []],
    [POLL, [limits.pollEvents, limits.batchEvents]],
  ]);
  return (rows as Poll[])[0] ?? { events: 0, batches: [], more: false, restored: false };
}

// No timeout: a transaction of millions of events is read by one poll. If that were canceled, the next poll would read it
// all again, and nobody's email would move.
// Commits asynchronously: a crash loses the cursor together with its batches, and the events are still there.
const LOCK = {
  name: 'relay_poll_lock',
  text: statement`select set_config('rowpost.polling', rowpost.try_relay_lock()::text, true),
    set_config('synchronous_commit', 'off', true), set_config('statement_timeout', '0', true)`,
};

// `later` are events of transactions that began after the last poll, whole transactions only. With a backlog, `beyond` is
// the one that fills the poll. The poll then ends just after it: its snapshot is the current one, truncated at that
// transaction's id. Each scan of the outbox opens all of its partitions, so there are only two.
const POLL = {
  name: 'relay_poll',
  text: statement`
    with last as materialized (
      select pollid, pg_snapshot_xmax(snapshot) as xmax, array(select pg_snapshot_xip(snapshot)) as running
      from rowpost.relay_poll
      where current_setting('rowpost.polling') = 'true'
      order by pollid desc limit 1
    ), present as materialized (
      select pg_current_snapshot() as snapshot
    ), later as materialized (
      select o.xid, o.eventid, o.time, o.tenantid, o.operation, o.target from rowpost.outbox o
      where o.xid >= (select xmax from last) and o.xid < (select pg_snapshot_xmax(snapshot) from present)
      order by o.xid fetch first ($1::int + 1) rows with ties
    ), beyond as materialized (
      select xid from later order by xid offset $1::int limit 1
    ), upto as materialized (
      select case when b.xid is null then p.snapshot else (
          least(pg_snapshot_xmin(p.snapshot), b.xid)::text || ':' || b.xid::text::bigint + 1 || ':' || coalesce(
            (select string_agg(x::text, ',' order by x) from pg_snapshot_xip(p.snapshot) x where x <= b.xid), '')
        )::pg_snapshot end as snapshot
      from present p left join beyond b on true
    ), fresh as materialized (
      select eventid, time, tenantid, operation, target from later
      union all
      select o.eventid, o.time, o.tenantid, o.operation, o.target from rowpost.outbox o
      where o.xid = any ((select running from last)::xid8[])
        -- A cursor that is ahead belongs to another cluster.
        and (select xmax from last) <= (select pg_snapshot_xmax(snapshot) from present)
    ), ${batchedSql(sql`fresh`, sql`$2::int`)}, polled as (
      insert into rowpost.relay_poll (previous, snapshot)
      select last.pollid, upto.snapshot from last, upto where exists (select from fresh)
    )
    select (select count(*)::int from fresh) as events,
      (select count(*) > 0 from beyond) as more,
      last.xmax > pg_snapshot_xmax(present.snapshot) as restored,
      ${batchesJson(sql`batched`)} as batches
    from last, present`,
};
