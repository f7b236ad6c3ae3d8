import type { Ledger } from '../pool/ledgerPool.js';
import { sameDelivery } from './manyDeliveries.js';
import { RECENT } from './trackUnended.js';
import { sql, statement } from '../sql/sql.js';

/** Of those that are due: a tenant may resume a million, 1 µs each, and this many are far more than any may have waiting. */
const MAX_DUE = 100_000;

/**
 * Deliveries per tenant that are queued, or claimed and not begun, according to the ledger. If very many are due, the latest are
 * left out.
 */
export async function countWaiting(ledger: Ledger): Promise<ReadonlyMap<number, number>> {
  const rows = await ledger.query<{ tenantid: number; deliveries: number }>(WAITING, []);
  return new Map(rows.map((row) => [row.tenantid, row.deliveries]));
}

// Tracked deliveries that are pending are due soon, so distant retries need not be read. A scalar subquery, as in
// `NOT_ENDED`.
const WAITING = {
  name: 'delivery_waiting',
  text: statement`
    select tenantid, count(*)::int as deliveries from (
      (select tenantid from rowpost.delivery
      where due < now() + interval '1 minute' and state = 'pending' order by due limit ${MAX_DUE})
      union all
      select d.tenantid from rowpost.delivery d
      where ${RECENT} and not d.tracked
        and (select s.deliveryid from rowpost.delivery_start s where ${sameDelivery(sql`s`, sql`d`)}) is null
    ) waiting
    group by tenantid`,
};
