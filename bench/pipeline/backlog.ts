import pg from 'pg';
import type { BenchInstallation } from '../support/installation.js';
import { ORDERS, type EmailShop } from './emailShop.js';

/** Events of a transaction of the backlog: a poll ends at a transaction's end. */
const EVENTS_A_TRANSACTION = 100;

/** Writes committed events straight into the outbox, as mutations that nobody has read yet. */
export async function writeBacklog(
  { databaseUrl }: BenchInstallation,
  shop: EmailShop,
  events: number,
): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  for (let from = 1; from <= events; from += EVENTS_A_TRANSACTION) {
    await client.query(
      `insert into rowpost.outbox (tenantid, roleid, operation, target, key, new)
        select $1, $2, 'insert', 'item', json_build_object('item_id', n), json_build_object('item_id', n,
          'order_id', 1 + n % ${ORDERS}, 'product', 'backlog', 'quantity', 2, 'price', 14.50, 'written_ms', '0')
        from generate_series($3::int, $4::int) n`,
      [shop.tenantid, shop.roleid, from, Math.min(from + EVENTS_A_TRANSACTION - 1, events)],
    );
  }
  await client.end();
}

/** How many of the tenant's deliveries the ledger holds in each state. */
export async function countStates(
  { databaseUrl }: BenchInstallation,
  { tenantid }: EmailShop,
): Promise<Readonly<Record<string, number>>> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  const { rows } = await client.query<{ state: string; count: number }>(
    'select state, count(*)::int as count from rowpost.email_delivery where tenantid = $1 group by state',
    [tenantid],
  );
  await client.end();
  return Object.fromEntries(rows.map(({ state, count }) => [state, count]));
}
