import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/** Global unicast addresses (IANA, "IPv6 Global Unicast Address Assignments"). */
const GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR('2000::/3');

/**
 * Whether an IP address is not public: this machine, its own network, or a translated address whose target is unchecked.
 * Anything that is not an IP address counts as private, so resolve names first.
 */
export function isPrivateAddress(address: string): boolean {
  if (isIP(address) === 0) return true;
  const parsed = ipaddr.parse(address);
  if (parsed instanceof ipaddr.IPv4) return parsed.range() !== 'unicast';
  if (parsed.isIPv4MappedAddress()) return parsed.toIPv4Address().range() !== 'unicast';
  return parsed.range() !== 'unicast' || !parsed.match(GLOBAL_UNICAST);
}

/** Whether an IP address is this machine. */
export function isLoopback(address: string): boolean {
  return isIP(address) !== 0 && ipaddr.process(address).range() === 'loopback';
}

/** The part of an address that identifies one client: all of an IPv4 address, the /64 prefix of an IPv6 address. */
export function clientNetwork(address: string): string {
  if (isIP(address) === 0) return address;
  const parsed = ipaddr.process(address);
  if (parsed instanceof ipaddr.IPv4) return parsed.toString();
  return ipaddr.fromByteArray([...parsed.toByteArray().slice(0, 8), ...Array<number>(8).fill(0)]).toString();
}

/** The host of a URL as an IP address; undefined if it is a name. */
export function literalAddress(url: URL): string | undefined {
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
  return isIP(host) === 0 ? undefined : host;
}
