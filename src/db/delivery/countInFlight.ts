import type { Ledger } from '../connection/ledger.js';
import { NOT_ENDED } from './track.js';

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
        -- Rows of a restored dump may have transaction ids that this cluster has yet to assign.
        and d.xid < (select pg_snapshot_xmax(pg_current_snapshot()))
        and ${NOT_ENDED}
    ) open
    group by tenantid`,
};
