import type { DeliveryKey } from './deliveryKey.js';
import type { Ledger } from '../pool/ledgerPool.js';
import { NOT_ENDED, trackDeliveries } from './track.js';
import { sql, statement } from '../sql/sql.js';

/** Minimum time between sweeps: a delivery that takes longer than one or two intervals becomes tracked. */
const SWEEP_SECONDS = 2;
/** Deliveries tracked per transaction. */
const TRACK_CHUNK_SIZE = 500;

/**
 * Tracks deliveries that were recorded recently and have not ended, so that the reconciler picks them up. Each delivery
 * is examined once: those that became visible between the snapshots of the last two sweeps. Concurrent and interrupted
 * sweeps are safe, since tracking is idempotent.
 * @returns the number of deliveries that had not ended
 */
export async function sweep(ledger: Ledger): Promise<number> {
  const [last] = await ledger.query<LastSweep>(LAST, []);
  if (!last?.due) return 0;
  const tracked = last.restored
    ? await trackAllUnended(ledger)
    : await trackInChunks(ledger, await ledger.query<DeliveryKey>(UNENDED, [last.sweepid]));
  // After a restore: from the snapshot before the scan, since what is recorded during it may not have been seen.
  await ledger.query(NEXT, [last.sweepid, last.restored ? last.present : null]);
  return tracked;
}

/** After a restore the rows' transaction ids are meaningless in this cluster, so the whole table is scanned, without a timeout. */
export async function trackAllUnended(ledger: Ledger): Promise<number> {
  const [, rows] = await ledger.transaction([
    [NO_TIMEOUT, []],
    [ALL_UNENDED, []],
  ]);
  return trackInChunks(ledger, rows as DeliveryKey[]);
}

async function trackInChunks(ledger: Ledger, unended: readonly DeliveryKey[]): Promise<number> {
  for (let start = 0; start < unended.length; start += TRACK_CHUNK_SIZE) {
    await trackDeliveries(ledger, unended.slice(start, start + TRACK_CHUNK_SIZE));
  }
  return unended.length;
}

interface LastSweep {
  sweepid: string;
  due: boolean;
  /** The snapshot is ahead of this database, which was restored from a dump. */
  restored: boolean;
  /** The present snapshot. */
  present: string;
}

// Qualified: an unqualified `sweepid` would order by the text column, where 9 comes after 10.
const LAST = {
  name: 'sweep_last',
  text: statement`
    select s.sweepid::text as sweepid, time < now() - interval '${SWEEP_SECONDS} seconds' as due,
      pg_snapshot_xmax(until) > pg_snapshot_xmax(pg_current_snapshot()) as restored, pg_current_snapshot()::text as present
    from rowpost.delivery_sweep s order by s.sweepid desc limit 1`,
};

const KEY_COLUMNS = sql`d.tenantid, d.deliveryid::text as deliveryid, d.createtime::text as createtime`;

// Transactions still running at `since` are in its xip list; see pollOutbox.ts.
const UNENDED = {
  name: 'sweep_unended',
  text: statement`
    with window_ as materialized (
      select pg_snapshot_xmax(since) as since, pg_snapshot_xmax(until) as until, array(select pg_snapshot_xip(since)) as running
      from rowpost.delivery_sweep where sweepid = $1::bigint
    )
    select ${KEY_COLUMNS} from rowpost.delivery d
    where d.xid >= (select since from window_) and d.xid < (select until from window_) and ${NOT_ENDED}
    union all
    select ${KEY_COLUMNS} from rowpost.delivery d
    where d.xid = any ((select running from window_)::xid8[]) and ${NOT_ENDED}`,
};

export const NO_TIMEOUT = {
  name: 'no_timeout',
  text: statement`select set_config('statement_timeout', '0', true)`,
};

const ALL_UNENDED = {
  name: 'sweep_all_unended',
  text: statement`select ${KEY_COLUMNS} from rowpost.delivery d where ${NOT_ENDED}`,
};

/**
 * SQL: delivery `d` was recorded since the last sweep but one; transactions that were in progress then apart. Rows of a
 * restored dump may have transaction ids that this cluster has yet to assign.
 */
export const RECENT = sql`d.xid >= (select pg_snapshot_xmax(since) from rowpost.delivery_sweep order by sweepid desc limit 1)
  and d.xid < (select pg_snapshot_xmax(pg_current_snapshot()))`;

const NEXT = {
  name: 'sweep_next',
  text: statement`
    insert into rowpost.delivery_sweep (previous, since, until)
    select sweepid, coalesce($2::pg_snapshot, until), coalesce($2::pg_snapshot, pg_current_snapshot())
    from rowpost.delivery_sweep where sweepid = $1::bigint
    on conflict (previous) do nothing`,
};
