import type { DeliveryKey, KnownDelivery } from './deliveryKey.js';
import type { Ledger } from '../pool/ledgerPool.js';
import { isMovedSql } from './isMovedSql.js';
import { columnsOf, sameDelivery, wantedSql } from './manyDeliveries.js';
import { sql, statement } from '../sql/sql.js';

/** A delivery that should be in the queue. */
export interface DueDelivery extends KnownDelivery {
  /** Until it may be attempted, if that is moments away; otherwise 0. */
  readonly delayMs: number;
}

/** A tenant with a larger part of what was read crowds it. */
const CROWDING_PART = 10;
const MAX_CROWDING = 20;

/**
 * Deliveries pending or due for a retry and not queued in the last few seconds, oldest first. If there are as many as the limit, as
 * many again of tenants that don't crowd them, and so on: whoever resumes a hundred thousand must not hide what others retry.
 */
export async function dueDeliveries(ledger: Ledger, limit: number): Promise<readonly DueDelivery[]> {
  // Some of tenants that don't crowd a page are in the next one, too.
  const found = new Map<string, DueDelivery>();
  const crowding = new Set<number>();
  for (;;) {
    const oldest = await ledger.query<DueDelivery>(DUE, [limit, [...crowding]]);
    for (const delivery of oldest) found.set(`${delivery.tenantid} ${delivery.deliveryid}`, delivery);
    if (oldest.length < limit || crowding.size >= MAX_CROWDING) return [...found.values()];
    const known = crowding.size;
    for (const tenantid of crowdingTenants(oldest)) crowding.add(tenantid);
    if (crowding.size === known) return [...found.values()];
  }
}

function crowdingTenants(deliveries: readonly DueDelivery[]): readonly number[] {
  const counts = new Map<number, number>();
  for (const { tenantid } of deliveries) counts.set(tenantid, (counts.get(tenantid) ?? 0) + 1);
  const most = deliveries.length / CROWDING_PART;
  return [...counts].flatMap(([tenantid, count]) => (count > most ? [tenantid] : []));
}

// Reads past the deliveries of crowding tenants, 1 µs each.
const DUE = {
  name: 'delivery_due',
  text: statement`
    select tenantid, deliveryid::text as deliveryid, createtime::text as createtime, starts,
      coalesce(greatest(ceil(extract(epoch from next_attempt - now()) * 1000), 0), 0)::float8 as "delayMs"
    from rowpost.delivery d
    where due < now() and state in ('pending', 'retrying') and tenantid <> all ($2::int[])
      and not ${isMovedSql(sql`d`)}
    order by due limit $1::int`,
};

/**
 * Marks deliveries as queued, to be rechecked after `recheckSeconds`. Called after queueing them: if the relay dies in
 * between, another one queues them again, which is idempotent.
 * @returns the number marked: those locked by another session are skipped
 */
export async function markQueued(
  ledger: Ledger,
  deliveries: readonly DeliveryKey[],
  recheckSeconds: number,
): Promise<number> {
  if (deliveries.length === 0) return 0;
  const noted = await ledger.query(QUEUED, [...columnsOf(deliveries), recheckSeconds]);
  return noted.length;
}

// A worker may have claimed a delivery meanwhile: then its lease takes precedence. Sorted; rows that another relay is
// marking are skipped.
const QUEUED = {
  name: 'delivery_queued',
  text: statement`
    with queued as materialized (
      select d.tenantid, d.deliveryid, d.createtime
      from ${wantedSql()} join rowpost.delivery d on ${sameDelivery(sql`d`, sql`w`)}
      where d.due < now() and d.state in ('pending', 'retrying')
      order by d.deliveryid for update of d skip locked
    )
    update rowpost.delivery d set due = greatest(now(), d.next_attempt) + $4::int * interval '1 second'
    from queued q
    where ${sameDelivery(sql`d`, sql`q`)}
    returning d.deliveryid`,
};
