import type { IncomingMessage } from 'node:http';
import { clientNetwork } from '../../foundation/net/networkAddress.js';
import { MAX_PROXIES, type TrustedProxies } from '../../foundation/net/trustedProxies.js';

/** The client's address; behind trusted proxies, the one they report. Other text than an address is never one. */
export function clientAddress({ headers, socket }: IncomingMessage, proxies: TrustedProxies): string {
  const forwarded = [headers['x-forwarded-for'] ?? []]
    .flat()
    .join(',')
    .split(',')
    .map((address) => withoutPort(address.trim()))
    .filter((address) => address !== '');
  const way = [socket.remoteAddress ?? '', ...forwarded.reverse()];
  let client = '';
  // No chain of proxies is longer: a client may send any number of addresses itself.
  for (const [hop, address] of way.slice(0, MAX_PROXIES + 1).entries()) {
    const network = clientNetwork(address);
    // No proxy wrote it, or one that does not tell.
    if (network === undefined) break;
    client = network;
    if (!proxies.trusts(address, hop)) break;
  }
  return client;
}

/** Some proxies write the client's port as well, as in `192.0.2.1:4711` and `[2001:db8::1]:4711`: a new one for each connection. */
function withoutPort(address: string): string {
  return /^\[(.*)\](?::\d+)?$/.exec(address)?.[1] ?? /^([\d.]+):\d+$/.exec(address)?.[1] ?? address;
}
