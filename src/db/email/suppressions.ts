import type { Ledger } from '../pool/ledgerPool.js';
import { statement, textConstant } from '../sql/sql.js';

/** Addresses of one delivery, lowercased. */
export interface AddressesOfTenant {
  readonly tenantid: number;
  readonly addresses: readonly string[];
  /** The email type, if one can unsubscribe from it; otherwise null. */
  readonly emailType: string | null;
}

/** Stands for the source of a suppression if the recipient has unsubscribed. */
export const UNSUBSCRIBED = 'unsubscribe';

/** @returns for each request, its suppressed addresses and the source of the suppression, and those that have unsubscribed. */
export async function findSuppressed(
  ledger: Ledger,
  requests: readonly AddressesOfTenant[],
): Promise<readonly ReadonlyMap<string, string>[]> {
  const found = requests.map(() => new Map<string, string>());
  const wanted = requests.flatMap(({ tenantid, addresses, emailType }, position) =>
    addresses.map((address) => ({ tenantid, address, emailType, position })),
  );
  const rows = await ledger.query<{ position: number; address: string; source: string }>(
    FIND,
    (['tenantid', 'address', 'emailType', 'position'] as const).map((name) => wanted.map((row) => row[name])),
  );
  for (const { position, address, source } of rows) found[position]?.set(address, source);
  return found;
}

const FIND = {
  name: 'suppression_find',
  text: statement`
    with wanted as materialized (
      select * from unnest($1::int[], $2::text[], $3::text[], $4::int[]) as w(tenantid, address, email_type, position)
    )
    select w.position, u.address, ${textConstant(UNSUBSCRIBED)} as source
    from wanted w join rowpost.email_unsubscribe u on u.tenantid = w.tenantid and u.address = w.address
    where u.all_types and w.email_type is not null or w.email_type = any (u.email_types)
    union all
    select w.position, s.address, s.source
    from wanted w join rowpost.email_suppression s on s.tenantid = w.tenantid and s.address = w.address
    where s.removetime is null`,
};

/** Deletes addresses removed from the list so long ago that no older event can still arrive: in parts, since there may be very many. */
export async function purgeRemovedSuppressions(ledger: Ledger, atOnce = 10_000): Promise<void> {
  for (;;) {
    const [purged] = await ledger.query<{ count: number }>(PURGE, [atOnce]);
    if ((purged?.count ?? 0) < atOnce) return;
  }
}

// The carrier retries a report for up to a day.
const PURGE = {
  name: 'suppression_forget',
  text: statement`
    with purged as (
      delete from rowpost.email_suppression where ctid = any (array(
        select ctid from rowpost.email_suppression where removetime < now() - interval '3 days'
        limit $1::int for update skip locked))
      returning address
    )
    select count(*)::int as count from purged`,
};
