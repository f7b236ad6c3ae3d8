import type { Ledger } from '../connection/ledger.js';

/**
 * After a dump is restored into another cluster, the outbox holds transaction ids that are meaningless here and will be
 * reused. They are reset to an old transaction id. Events that the relay had not read when the dump was made are batched
 * now: those since its last tick that are in no batch. Batching an event twice is harmless, since the ledger has one
 * delivery per event and rule.
 */
export async function adoptRestoredOutbox(ledger: Ledger, batchEvents: number): Promise<void> {
  await ledger.transaction([
    [NO_TIMEOUT, []],
    [MAINTENANCE_LOCK, []],
    [BATCH_UNREAD, [batchEvents]],
    [RESET_FOREIGN_XIDS, []],
    [RESET_CURSOR, []],
  ]);
}

const NO_TIMEOUT = {
  name: 'restored_no_timeout',
  text: `select set_config('statement_timeout', '0', true)`,
};

const MAINTENANCE_LOCK = {
  name: 'restored_one_relay',
  text: 'lock table rowpost.maintenance_lock in share update exclusive mode',
};

/** Guards against a second relay doing the same: once the first is through, the cursor is no longer ahead. */
const CURSOR_IS_AHEAD = `(select pg_snapshot_xmax(snapshot) > pg_snapshot_xmax(pg_current_snapshot())
  from rowpost.relay_tick order by tickid desc limit 1)`;

// A transaction that was open at the last tick may have begun before it; none may take as long as an hour.
const BATCH_UNREAD = {
  name: 'restored_batch_unread',
  text: `
    insert into rowpost.relay_batch (tenantid, eventids, mintime, maxtime)
    select tenantid, array_agg(eventid order by eventid), min(time), max(time)
    from (
      select o.eventid, o.time, o.tenantid,
        (row_number() over (partition by o.tenantid order by o.eventid) - 1) / $1::int as part
      from rowpost.outbox o
      where ${CURSOR_IS_AHEAD}
        and o.time > (select time - interval '1 hour' from rowpost.relay_tick order by tickid desc limit 1)
        and exists (select from rowpost.email_rule r where r.tenantid = o.tenantid and r.enabled
          and o.operation = any (r.operations) and o.target = any (r.targets))
        and not exists (select from rowpost.relay_batch b
          where b.tenantid = o.tenantid and b.maxtime >= o.time and b.mintime <= o.time and o.eventid = any (b.eventids))
    ) unread
    group by part, tenantid`,
};

const RESET_FOREIGN_XIDS = {
  name: 'restored_forget_foreign_ids',
  text: `update rowpost.outbox set xid = '3'
    where ${CURSOR_IS_AHEAD} and xid >= pg_snapshot_xmax(pg_current_snapshot())`,
};

const RESET_CURSOR = {
  name: 'restored_start_afresh',
  text: `
    insert into rowpost.relay_tick (previous, snapshot)
    select tickid, pg_current_snapshot() from rowpost.relay_tick where ${CURSOR_IS_AHEAD}
    order by tickid desc limit 1`,
};
