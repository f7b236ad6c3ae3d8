import { lookup } from 'node:dns';
import type { LookupFunction } from 'node:net';
import { isPrivateAddress } from './networkAddress.js';

/** The name leads into a private network. */
export class PrivateAddress extends Error {}

/**
 * Resolves a name and rejects it if any of its addresses is private. For connecting: so the name can't be rebound between
 * a check and the call.
 */
export const publicLookup: LookupFunction = (hostname, options, callback) => {
  lookup(hostname, { ...options, all: true }, (error, addresses) => {
    // There are none with an error, whatever the types say.
    const [first] = error ? [] : addresses;
    if (error || !first) callback(error ?? new Error('no address'), '', 0);
    else if (addresses.some(({ address }) => isPrivateAddress(address)))
      callback(new PrivateAddress(), '', 0);
    else if (options.all === true) callback(null, addresses);
    else callback(null, first.address, first.family);
  });
};
