import type { HeldDelivery } from './deliveryKey.js';
import type { Ledger } from '../pool/ledgerPool.js';
import { columnsOf, itemsFrom, sameDelivery, wantedSql } from './manyDeliveries.js';
import { trackDeliveries } from './track.js';
import { sql, statement } from '../sql/sql.js';

/**
 * Extends leases, or records them: until one ends, the reconciler leaves the delivery to its worker.
 * @returns for each, whether the caller still holds the delivery
 */
export async function extendLeases(
  ledger: Ledger,
  deliveries: readonly HeldDelivery[],
  leaseMs: number,
): Promise<readonly boolean[]> {
  const extend = (some: readonly HeldDelivery[]): Promise<ReadonlySet<HeldDelivery>> =>
    itemsFrom(ledger, EXTEND, some, [...columnsOf(some, 'starts', 'sending'), leaseMs]);
  // From its first lease on a delivery is tracked, so a renewal is this one statement.
  const tracked = await extend(deliveries);
  const others = deliveries.filter((delivery) => !tracked.has(delivery));
  await trackDeliveries(ledger, others);
  const extended = await extend(others);
  return deliveries.map((delivery) => tracked.has(delivery) || extended.has(delivery));
}

// Sorted, as the reconciler locks rows in this order too.
const EXTEND = {
  name: 'lease_extend',
  text: statement`
    with held as materialized (
      select w.position, d.tenantid, d.deliveryid, d.createtime
      from ${wantedSql('starts int4', 'sending bool')} join rowpost.delivery d on ${sameDelivery(sql`d`, sql`w`)}
      where d.tracked and d.starts = w.starts
        and case when w.sending then d.state = 'sending' else d.state in ('pending', 'retrying') end
      order by d.deliveryid for update of d
    )
    update rowpost.delivery d set due = now() + $6::int * interval '1 ms'
    from held h
    where ${sameDelivery(sql`d`, sql`h`)}
    returning h.position::int as position`,
};
