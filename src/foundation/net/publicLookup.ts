import dns from 'node:dns/promises';
import type { LookupFunction } from 'node:net';
import { isPrivateAddress } from './networkAddress.js';

/** The name resolves to a private address. */
export class PrivateAddress extends Error {}

/**
 * Resolves a name and rejects it if any of its addresses is private. Used while connecting, so that the name can't be
 * rebound between a check and the call. Asks DNS itself: `lookup` would take one of two threads, for which the lookups of
 * all other tenants wait until that name's server responds.
 */
export const publicLookup: LookupFunction = (hostname, { all }, callback) => {
  addressesOf(hostname).then(
    (addresses) => {
      if (all === true) callback(null, [...addresses]);
      else callback(null, addresses[0].address, addresses[0].family);
    },
    (error: unknown) => callback(error as Error, '', 0),
  );
};

interface Resolved {
  readonly address: string;
  readonly family: 4 | 6;
}

/** Throws PrivateAddress, or DNS's own error if there is no address. */
async function addressesOf(hostname: string): Promise<readonly [Resolved, ...Resolved[]]> {
  // Names without a dot, such as localhost, are local by convention.
  if (!hostname.includes('.')) throw new PrivateAddress();
  const [four, six] = await Promise.allSettled([dns.resolve4(hostname), dns.resolve6(hostname)]);
  const [first, ...others] = [...resolved(four, 4), ...resolved(six, 6)];
  if (!first) throw four.status === 'rejected' ? (four.reason as Error) : new Error('no address');
  if ([first, ...others].some(({ address }) => isPrivateAddress(address))) throw new PrivateAddress();
  return [first, ...others];
}

function resolved(lookup: PromiseSettledResult<string[]>, family: Resolved['family']): Resolved[] {
  return lookup.status === 'fulfilled' ? lookup.value.map((address) => ({ address, family })) : [];
}
