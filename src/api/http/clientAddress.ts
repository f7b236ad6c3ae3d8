import type { IncomingMessage } from 'node:http';
import { visitorNetwork } from '../../networkAddress.js';

/** Where a request comes from: behind `trustedProxies` proxies it is what they say. */
export function clientAddress({ headers, socket }: IncomingMessage, trustedProxies: number): string {
  const forwarded = [headers['x-forwarded-for'] ?? []].flat().join(',').split(',');
  const way = [...forwarded.map((address) => address.trim()), socket.remoteAddress ?? ''];
  return visitorNetwork(way[Math.max(0, way.length - 1 - trustedProxies)] ?? '');
}
