import { ownValue } from '../ownValue.js';
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { parseAddress } from './networkAddress.js';

/** The proxies whose X-Forwarded-For is believed. */
export interface TrustedProxies {
  readonly count: 'none' | 'some';
  /** Whether the sender of a request is one of them, `hop` proxies away from us. */
  trusts(address: string, hop: number): boolean;
}

type Network = readonly [ipaddr.IPv4 | ipaddr.IPv6, number];

/** Address ranges by the names that IANA's registries, and Express, give them. */
const RANGES: Readonly<Record<string, readonly string[]>> = {
  loopback: ['127.0.0.0/8', '::1/128'],
  linklocal: ['169.254.0.0/16', 'fe80::/10'],
  uniquelocal: ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7'],
};
/** What IPv4 addresses written as IPv6 ones begin with, as in `::ffff:10.0.0.0/104`. */
const MAPPED_BITS = 96;
/** Where a proxy is if only their number is given: not where strangers connect from. */
const OWN_NETWORKS = Object.values(RANGES).flat().map(networkOf);

export const NO_PROXIES: TrustedProxies = { count: 'none', trusts: () => false };

/** A number of proxies, of which the nearest is in a private network, or a list of addresses, networks and names. */
export function parseTrustedProxies(value: string): TrustedProxies {
  if (/^\d+$/.test(value)) return numberOfProxies(Number(value));
  const networks = value
    .split(',')
    .map((item) => item.trim())
    .flatMap((item) => ownValue(RANGES, item) ?? [item])
    .map(networkOf);
  return { count: 'some', trusts: (address) => isIn(networks, address) };
}

export const MAX_PROXIES = 10;

function numberOfProxies(count: number): TrustedProxies {
  if (count > MAX_PROXIES) throw new Error(`is not a number of proxies from 0 to ${MAX_PROXIES}`);
  if (count === 0) return NO_PROXIES;
  return {
    count: 'some',
    trusts: (address, hop) => hop < count && (hop > 0 || isIn(OWN_NETWORKS, address)),
  };
}

function networkOf(item: string): Network {
  const isAddress = isIP(item) !== 0;
  // Without the first condition, 010.0.0.0/8 would be 8.0.0.0/8.
  if (!isAddress && !(isIP(item.split('/', 1)[0] ?? '') !== 0 && ipaddr.isValidCIDR(item))) {
    throw new Error(
      'is not a number of proxies, nor a list of addresses, networks such as 10.0.0.0/8, loopback, linklocal and uniquelocal',
    );
  }
  if (isAddress) {
    const address = ipaddr.process(item);
    return [address, address.kind() === 'ipv4' ? 32 : 128];
  }
  const [given, givenBits] = ipaddr.parseCIDR(item);
  // Addresses are compared as IPv4 ones.
  const isMapped = given instanceof ipaddr.IPv6 && given.isIPv4MappedAddress() && givenBits >= MAPPED_BITS;
  const [address, bits] = isMapped ? [given.toIPv4Address(), givenBits - MAPPED_BITS] : [given, givenBits];
  if (bits === 0) throw new Error('trusts every address: list those of the proxies');
  return [address, bits];
}

function isIn(networks: readonly Network[], address: string): boolean {
  const parsed = parseAddress(address);
  return networks.some(([network, bits]) => parsed?.kind() === network.kind() && parsed.match(network, bits));
}
