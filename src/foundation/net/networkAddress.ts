import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/** Global unicast addresses (IANA, "IPv6 Global Unicast Address Assignments"). */
const GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR('2000::/3');

/** An IP address, without its zone, which means something on one machine only; undefined if the text is none. */
export function parseAddress(text: string): ipaddr.IPv4 | ipaddr.IPv6 | undefined {
  if (isIP(text) === 0) return undefined;
  const [address = ''] = text.split('%', 1);
  return ipaddr.process(address);
}

/**
 * Whether an IP address is not public: this machine, its own network, or a translated address whose target is unchecked.
 * Anything that is not an IP address counts as private, so resolve names first.
 */
export function isPrivateAddress(address: string): boolean {
  const parsed = parseAddress(address);
  if (parsed?.range() !== 'unicast') return true;
  return parsed instanceof ipaddr.IPv6 && !parsed.match(GLOBAL_UNICAST);
}

/** Whether an IP address is this machine. */
export function isLoopback(address: string): boolean {
  return parseAddress(address)?.range() === 'loopback';
}

/** The part of an address that identifies one client: all of an IPv4 address, the /64 prefix of an IPv6 address; undefined for other text. */
export function clientNetwork(address: string): string | undefined {
  const parsed = parseAddress(address);
  if (!(parsed instanceof ipaddr.IPv6)) return parsed?.toString();
  return ipaddr.fromByteArray([...parsed.toByteArray().slice(0, 8), ...Array<number>(8).fill(0)]).toString();
}

/** The host of a URL as an IP address; undefined if it is a name. */
export function literalAddress(url: URL): string | undefined {
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
  return isIP(host) === 0 ? undefined : host;
}
