import type { Ledger } from '../connection/ledger.js';

/** Addresses of one delivery, in lower case. */
export interface AddressesOfTenant {
  readonly tenantid: number;
  readonly addresses: readonly string[];
}

/** Looks up many deliveries' addresses at once. @returns for each, those that get no mail, with the reason's source. */
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

/** Forgets addresses that were taken off the list so long ago that no event from before can come any more. */
export async function forgetRemovedSuppressions(ledger: Ledger): Promise<void> {
  await ledger.query(FORGET, []);
}

// The provider reports an event for a day at most.
const FORGET = {
  name: 'suppression_forget',
  text: `delete from rowpost.email_suppression where removetime < now() - interval '3 days'`,
};
