import { lookup } from 'node:dns';
import type { LookupFunction } from 'node:net';
import { isPrivateAddress } from './networkAddress.js';

/** The name resolves to a private address. */
export class PrivateAddress extends Error {}

/**
 * Resolves a name and rejects it if any of its addresses is private. Used while connecting, so that the name can't be
 * rebound between a check and the call.
 */
export const publicLookup: LookupFunction = (hostname, options, callback) => {
  lookup(hostname, { ...options, all: true }, (error, addresses) => {
    // On error there are none, despite the types.
    const [first] = error ? [] : addresses;
    if (error || !first) callback(error ?? new Error('no address'), '', 0);
    else if (addresses.some(({ address }) => isPrivateAddress(address)))
      callback(new PrivateAddress(), '', 0);
    else if (options.all === true) callback(null, addresses);
    else callback(null, first.address, first.family);
  });
};
