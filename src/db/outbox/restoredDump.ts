import type { Ledger } from '../pool/ledgerPool.js';
import { batchedSql, RELAY_LOCK } from './batchEventsSql.js';
import { batchesJson, type Batch } from './batches.js';
import { NO_TIMEOUT, trackAllUnended } from '../ledger/trackUnended.js';
import { sql, statement } from '../sql/sql.js';

/**
 * After a dump is restored into another cluster, its rows hold transaction ids that mean nothing here and will be used
 * again. Then this starts afresh: deliveries that have not ended are tracked, events that the relay had not read when the
 * dump was made are batched, and the outbox gets an old transaction id. Elsewhere it does nothing. Batching an event
 * twice is harmless, since the ledger has one delivery per event and rule.
 * @returns the new batches; undefined when nothing was restored
 */
export async function adoptRestoredDump(
  ledger: Ledger,
  batchEvents: number,
): Promise<readonly Batch[] | undefined> {
  const [state] = await ledger.query<{ foreign: boolean }>(STATE, []);
  if (state?.foreign !== true) return undefined;
  await trackAllUnended(ledger);
  const [, , rows] = await ledger.transaction([
    [NO_TIMEOUT, []],
    [RELAY_LOCK, []],
    [START_AFRESH, [batchEvents]],
    [RESET_FOREIGN_XIDS, []],
  ]);
  return (rows as { batches: Batch[] }[])[0]?.batches ?? [];
}

/**
 * Rows visible to a snapshot have transaction ids below its upper bound, unless they come from another cluster. Either the
 * cursor or rows may be ahead without the other.
 */
const IS_FOREIGN = sql`(
  coalesce((select pg_snapshot_xmax(snapshot) from rowpost.relay_poll order by pollid desc limit 1)
    > pg_snapshot_xmax(pg_current_snapshot()), false)
  or exists (select from rowpost.outbox where xid >= pg_snapshot_xmax(pg_current_snapshot())))`;

const STATE = { name: 'restored_state', text: statement`select ${IS_FOREIGN} as foreign` };

// One statement, hence one snapshot: an event that commits meanwhile is either batched here or left to the next poll. Also
// guards against a second relay doing the same. A transaction that was open at the last poll may have begun up to an hour
// before it.
const START_AFRESH = {
  name: 'restored_start_afresh',
  text: statement`
    with foreign_ as materialized (
      select pollid, time from rowpost.relay_poll where ${IS_FOREIGN} order by pollid desc limit 1
    ), unread as (
      select o.eventid, o.time, o.tenantid, o.operation, o.target
      from rowpost.outbox o
      where o.time > (select time - interval '1 hour' from foreign_)
        and not exists (select from rowpost.relay_batch b
          where b.tenantid = o.tenantid and b.maxtime >= o.time and b.mintime <= o.time and o.eventid = any (b.eventids))
    ), ${batchedSql(sql`unread`, sql`$1::int`)}, polled as (
      insert into rowpost.relay_poll (previous, snapshot) select pollid, pg_current_snapshot() from foreign_
    )
    select ${batchesJson(sql`batched`)} as batches`,
};

const RESET_FOREIGN_XIDS = {
  name: 'restored_forget_foreign_ids',
  text: statement`update rowpost.outbox set xid = '3' where xid >= pg_snapshot_xmax(pg_current_snapshot())`,
};
