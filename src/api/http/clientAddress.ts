import type { IncomingMessage } from 'node:http';

/**
 * Where a request comes from: behind `trustedProxies` proxies it is what they say. A site has a whole /64 of IPv6
 * addresses, which is one.
 */
export function clientAddress({ headers, socket }: IncomingMessage, trustedProxies: number): string {
  const forwarded = [headers['x-forwarded-for'] ?? []].flat().join(',').split(',');
  const way = [...forwarded.map((address) => address.trim()), socket.remoteAddress ?? ''];
  const address = way[Math.max(0, way.length - 1 - trustedProxies)] ?? '';
  if (!address.includes(':') || address.startsWith('::ffff:')) return address;
  return address.split('::', 1)[0]?.split(':').slice(0, 4).join(':') ?? address;
}
