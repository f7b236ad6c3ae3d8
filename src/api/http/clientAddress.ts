import type { IncomingMessage } from 'node:http';
import { visitorNetwork } from '../../networkAddress.js';

/** The client's address; behind `trustedProxies` proxies, the one they report. */
export function clientAddress({ headers, socket }: IncomingMessage, trustedProxies: number): string {
  const forwarded = [headers['x-forwarded-for'] ?? []].flat().join(',').split(',');
  const way = [...forwarded.map((address) => address.trim()), socket.remoteAddress ?? ''];
  return visitorNetwork(way[Math.max(0, way.length - 1 - trustedProxies)] ?? '');
}
