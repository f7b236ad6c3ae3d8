import type { IncomingMessage } from 'node:http';
import { visitorNetwork } from '../../networkAddress.js';
import type { TrustedProxies } from '../../trustedProxies.js';

/** The client's address; behind trusted proxies, the one they report. */
export function clientAddress({ headers, socket }: IncomingMessage, proxies: TrustedProxies): string {
  const forwarded = [headers['x-forwarded-for'] ?? []]
    .flat()
    .join(',')
    .split(',')
    .map((address) => address.trim())
    .filter((address) => address !== '');
  const way = [socket.remoteAddress ?? '', ...forwarded.reverse()];
  const trusted = way.findIndex((address, hop) => !proxies.trusts(address, hop));
  return visitorNetwork(way[trusted < 0 ? way.length - 1 : trusted] ?? '');
}
