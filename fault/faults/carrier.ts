import { ACCEPT, type Behavior } from '../carrier/ledger.js';
import { replaceKey } from '../rig/shop.js';
import type { TenantFault } from './tenantFault.js';

const HTML_PAGE = '<html><body><h1>413 Request Entity Too Large</h1></body></html>';

/** The carrier behaves this way for one key, then accepts its emails again. */
function behaving(
  name: string,
  what: string,
  behavior: Behavior,
  mayFailWith: readonly string[] = [],
): TenantFault {
  return {
    name,
    what,
    special: { mayFailWith },
    begin: ({ carrier }, shop) => carrier.behave({ [shop.apiKey]: behavior }),
    end: ({ carrier }, shop) => carrier.behave({ [shop.apiKey]: ACCEPT }),
  };
}

const answering = (
  status: number,
  rest: { headers?: Record<string, string>; body?: string } = {},
): Behavior => ({
  kind: 'reply',
  status,
  ...rest,
});

/** Refuses until a key that the carrier accepts is set. */
const keyRefused: TenantFault = {
  name: 'carrier 401',
  what: 'the key is refused; then another is set',
  special: {},
  begin: ({ carrier }, shop) =>
    carrier.behave({
      [shop.apiKey]: answering(401, { body: '{"errors":[{"message":"the key is not valid"}]}' }),
    }),
  end: ({ fleet }, shop) => replaceKey(shop, fleet.webs[0]?.baseUrl ?? ''),
};

export const PROVIDER_FAULTS: readonly TenantFault[] = [
  behaving(
    'carrier 429',
    'too many requests, for one tenant',
    answering(429, { headers: { 'retry-after': '2' } }),
  ),
  behaving('carrier 500', 'an error of its own', answering(500)),
  behaving('carrier 503', 'overloaded', answering(503, { body: '<html>busy</html>' })),
  behaving('carrier 413', 'too large, as a page of HTML', answering(413, { body: HTML_PAGE }), [
    'CARRIER_413',
  ]),
  keyRefused,
  behaving('carrier hangs', 'reads the email and says nothing', { kind: 'hang' }),
  behaving('header drip', 'a header every 50 ms without end', { kind: 'header-drip' }),
  { ...behaving('body drip', '202, and a body without end', { kind: 'body-drip' }), losesResponses: true },
  behaving('reset before', 'aborts before it has read the email', { kind: 'reset-before' }),
  {
    ...behaving('reset after', 'takes the email, and aborts', { kind: 'reset-after' }),
    losesResponses: true,
  },
  behaving(
    'redirect',
    'sends the email elsewhere',
    answering(302, { headers: { location: 'http://127.0.0.1:9/' } }),
  ),
  behaving(
    '202 garbage',
    'accepts with a response that is no JSON',
    answering(202, { body: '\u0000{"errors": [' }),
  ),
];
