import type { DeliveryKey } from './batches.js';
import type { Ledger } from './ledger.js';
import { NOT_ENDED } from './track.js';

/** A delivery that should be in the queue, now that its time has come. */
export interface OpenDelivery extends DeliveryKey {
  readonly starts: number;
  /** Until its turn, when it is a capped tenant's and comes in a moment. */
  readonly delayMs: number;
}

/** Seconds between two checks of the same waiting delivery. */
const RECHECK_SECONDS = 10;

/** Takes deliveries that wait or whose retry is due, oldest first, and that nobody has taken for some seconds. */
export async function takeDueDeliveries(ledger: Ledger, limit: number): Promise<readonly OpenDelivery[]> {
  return ledger.query<OpenDelivery>(TAKE_DUE, [limit]);
}

const TAKE_DUE = {
  name: 'delivery_take_due',
  text: `
    with overdue as materialized (
      select tenantid, deliveryid, createtime from rowpost.delivery
      where due < now() and state in ('pending', 'retrying') order by due limit $1::int for update skip locked
    )
    update rowpost.delivery d set due = greatest(now(), d.next_attempt) + interval '${RECHECK_SECONDS} seconds'
    from overdue o
    where d.tenantid = o.tenantid and d.deliveryid = o.deliveryid and d.createtime = o.createtime
    returning d.tenantid, d.deliveryid::text as deliveryid, d.createtime::text as createtime, d.starts,
      coalesce(greatest(ceil(extract(epoch from d.next_attempt - now()) * 1000), 0), 0)::float8 as "delayMs"`,
};

/** How many deliveries of each tenant are in the queue or in hand, as the ledger knows it. */
export async function countInFlight(ledger: Ledger): Promise<ReadonlyMap<number, number>> {
  const rows = await ledger.query<{ tenantid: number; deliveries: number }>(IN_FLIGHT, []);
  return new Map(rows.map((row) => [row.tenantid, row.deliveries]));
}

// Of the tracked ones those that wait or are being sent are due soon; retries of a far future need not be read. The
// others were recorded since the last sweep but one.
const IN_FLIGHT = {
  name: 'delivery_in_flight',
  text: `
    select tenantid, count(*)::int as deliveries from (
      select tenantid from rowpost.delivery
      where due < now() + interval '1 minute' and state in ('pending', 'sending')
      union all
      select d.tenantid from rowpost.delivery d
      where d.xid >= (select pg_snapshot_xmax(since) from rowpost.delivery_sweep order by sweepid desc limit 1)
        and ${NOT_ENDED}
    ) open
    group by tenantid`,
};
