import type { IncomingMessage } from 'node:http';
import { clientNetwork } from '../../foundation/net/networkAddress.js';
import { MAX_PROXIES, type TrustedProxies } from '../../foundation/net/trustedProxies.js';

/** The client's address; behind trusted proxies, the one they report. */
export function clientAddress({ headers, socket }: IncomingMessage, proxies: TrustedProxies): string {
  const forwarded = [headers['x-forwarded-for'] ?? []]
    .flat()
    .join(',')
    .split(',')
    .map((address) => withoutPort(address.trim()))
    .filter((address) => address !== '');
  const way = [socket.remoteAddress ?? '', ...forwarded.reverse()];
  // No chain of proxies is longer: a client may send any number of addresses itself.
  const likely = way.slice(0, MAX_PROXIES + 1);
  const trusted = likely.findIndex((address, hop) => !proxies.trusts(address, hop));
  return clientNetwork(likely[trusted < 0 ? likely.length - 1 : trusted] ?? '');
}

/** Some proxies write the client's port as well, as in `192.0.2.1:4711` and `[2001:db8::1]:4711`: a new one for each connection. */
function withoutPort(address: string): string {
  return /^\[(.*)\](?::\d+)?$/.exec(address)?.[1] ?? /^([\d.]+):\d+$/.exec(address)?.[1] ?? address;
}
