import { ACCEPT, type Behaviour } from '../provider/ledger.js';
import { replaceKey } from '../rig/shop.js';
import type { TenantFault } from './tenantFault.js';

const HTML_PAGE = '<html><body><h1>413 Request Entity Too Large</h1></body></html>';

/** The provider behaves this way for one key, then accepts its emails again. */
function behaving(
  name: string,
  what: string,
  behaviour: Behaviour,
  mayFailWith: readonly string[] = [],
): TenantFault {
  return {
    name,
    what,
    special: { mayFailWith },
    begin: ({ provider }, shop) => provider.behave({ [shop.apiKey]: behaviour }),
    end: ({ provider }, shop) => provider.behave({ [shop.apiKey]: ACCEPT }),
  };
}

const answering = (
  status: number,
  rest: { headers?: Record<string, string>; body?: string } = {},
): Behaviour => ({
  kind: 'reply',
  status,
  ...rest,
});

/** Refuses until a key that the provider accepts is set. */
const keyRefused: TenantFault = {
  name: 'provider 401',
  what: 'the key is refused; then another is set',
  special: {},
  begin: ({ provider }, shop) =>
    provider.behave({
      [shop.apiKey]: answering(401, { body: '{"errors":[{"message":"the key is not valid"}]}' }),
    }),
  end: ({ fleet }, shop) => replaceKey(shop, fleet.webs[0]?.baseUrl ?? ''),
};

export const PROVIDER_FAULTS: readonly TenantFault[] = [
  behaving(
    'provider 429',
    'too many requests, for one tenant',
    answering(429, { headers: { 'retry-after': '2' } }),
  ),
  behaving('provider 500', 'an error of its own', answering(500)),
  behaving('provider 503', 'overloaded', answering(503, { body: '<html>busy</html>' })),
  behaving('provider 413', 'too large, as a page of HTML', answering(413, { body: HTML_PAGE }), [
    'PROVIDER_413',
  ]),
  keyRefused,
  behaving('provider hangs', 'reads the email and says nothing', { kind: 'hang' }),
  behaving('header drip', 'a header every 50 ms without end', { kind: 'header-drip' }),
  { ...behaving('body drip', '202, and a body without end', { kind: 'body-drip' }), losesResponses: true },
  behaving('reset before', 'breaks off before it has read the email', { kind: 'reset-before' }),
  {
    ...behaving('reset after', 'takes the email, and breaks off', { kind: 'reset-after' }),
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
