import { sameDelivery, type DeliveryKey } from './deliveryKey.js';
import type { Ledger } from '../connection/ledger.js';
import { NOT_ENDED } from './track.js';

/** A due delivery that should be in the queue. */
export interface OpenDelivery extends DeliveryKey {
  readonly starts: number;
  /** Until its rate limit slot, if that is moments away; otherwise 0. */
  readonly delayMs: number;
}

/** Seconds until a delivery that is still waiting is due again, in case the queue lost it. */
export interface RecheckSeconds {
  /** When fewer than the limit are due. */
  readonly few: number;
  /** Longer, to spare the queue, e.g. after a provider outage. */
  readonly many: number;
}

/**
 * Takes deliveries that are pending or due for a retry and were not taken in the last few seconds, oldest first. If they
 * don't get into the queue, they are due again after `recheck`. Those locked by another session are skipped.
 */
export async function takeDueDeliveries(
  ledger: Ledger,
  limit: number,
  recheck: RecheckSeconds,
): Promise<readonly OpenDelivery[]> {
  return ledger.query<OpenDelivery>(TAKE_DUE, [limit, recheck.few, recheck.many]);
}

const TAKE_DUE = {
  name: 'delivery_take_due',
  text: `
    with due as materialized (
      select tenantid, deliveryid, createtime, due from rowpost.delivery
      where due < now() and state in ('pending', 'retrying') order by due limit $1::int for update skip locked
    ), taken as (
      update rowpost.delivery d
      set due = greatest(now(), d.next_attempt) + interval '1 second'
        * case when (select count(*) from due) < $1::int then $2::int else $3::int end
      from due q
      where ${sameDelivery('d', 'q')}
      returning d.tenantid, d.deliveryid, d.createtime, d.starts, d.next_attempt, q.due as was_due
    )
    select tenantid, deliveryid::text as deliveryid, createtime::text as createtime, starts,
      coalesce(greatest(ceil(extract(epoch from next_attempt - now()) * 1000), 0), 0)::float8 as "delayMs"
    from taken order by was_due`,
};

/** Deliveries queued or in flight per tenant, according to the ledger. */
export async function countInFlight(ledger: Ledger): Promise<ReadonlyMap<number, number>> {
  const rows = await ledger.query<{ tenantid: number; deliveries: number }>(IN_FLIGHT, []);
  return new Map(rows.map((row) => [row.tenantid, row.deliveries]));
}

// Tracked deliveries that are pending or sending are due soon, so distant retries need not be read. Untracked ones were
// recorded since the last sweep but one.
const IN_FLIGHT = {
  name: 'delivery_in_flight',
  text: `
    select tenantid, count(*)::int as deliveries from (
      select tenantid from rowpost.delivery
      where due < now() + interval '1 minute' and state in ('pending', 'sending')
      union all
      select d.tenantid from rowpost.delivery d
      where d.xid >= (select pg_snapshot_xmax(since) from rowpost.delivery_sweep order by sweepid desc limit 1)
        -- Rows of a restored dump may bear ids that this cluster has still to reach.
        and d.xid < (select pg_snapshot_xmax(pg_current_snapshot()))
        and ${NOT_ENDED}
    ) open
    group by tenantid`,
};
