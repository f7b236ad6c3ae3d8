import type { Ledger } from '../connection/ledger.js';

/** Addresses of one delivery, lowercased. */
export interface AddressesOfTenant {
  readonly tenantid: number;
  readonly addresses: readonly string[];
}

/** @returns for each request, its suppressed addresses and the source of the suppression. */
export async function findSuppressed(
  ledger: Ledger,
  requests: readonly AddressesOfTenant[],
): Promise<readonly ReadonlyMap<string, string>[]> {
  const found = requests.map(() => new Map<string, string>());
  const tenantids: number[] = [];
  const addresses: string[] = [];
  const positions: number[] = [];
  requests.forEach((request, position) => {
    for (const address of request.addresses) {
      tenantids.push(request.tenantid);
      addresses.push(address);
      positions.push(position);
    }
  });
  const rows = await ledger.query<{ position: number; address: string; source: string }>(FIND, [
    tenantids,
    addresses,
    positions,
  ]);
  for (const { position, address, source } of rows) found[position]?.set(address, source);
  return found;
}

const FIND = {
  name: 'suppression_find',
  text: `
    select w.position, s.address, s.source
    from unnest($1::int[], $2::text[], $3::int[]) as w(tenantid, address, position)
      join rowpost.email_suppression s on s.tenantid = w.tenantid and s.address = w.address
    where s.removetime is null`,
};

/** Deletes addresses removed from the list so long ago that no older event can still arrive. */
export async function purgeRemovedSuppressions(ledger: Ledger): Promise<void> {
  await ledger.query(PURGE, []);
}

// The provider retries a report for up to a day.
const PURGE = {
  name: 'suppression_forget',
  text: `delete from rowpost.email_suppression where removetime < now() - interval '3 days'`,
};
