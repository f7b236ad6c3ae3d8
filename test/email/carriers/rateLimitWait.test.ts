import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import { postmark } from '../../../src/email/carriers/postmark/postmark.js';
import { openCarrier } from '../../support/openCarrier.js';
import { readWait } from '../../../src/email/carriers/rateLimitWait.js';

const NOW = Date.parse('2026-11-27T07:00:00Z');
const IN_40_S = NOW + 40_000;
const epochSeconds = String(IN_40_S / 1000);
const epochMs = String(IN_40_S);
const date = new Date(IN_40_S).toUTCString();

/** How servers say that 40 seconds remain. */
const FORTY: readonly (readonly [who: string, headers: Readonly<Record<string, string>>])[] = [
  ['RFC 9110, seconds', { 'retry-after': '40' }],
  ['RFC 9110, a date', { 'retry-after': date }],
  ['with a fraction', { 'retry-after': '40.0' }],
  ['with spaces', { 'retry-after': ' 40 ' }],
  ['Cloud Foundry, a time', { 'retry-after': epochSeconds }],
  ['Resend, and drafts 00 to 06 of the IETF', { 'ratelimit-reset': '40' }],
  ['draft 07', { ratelimit: 'limit=10, remaining=0, reset=40' }],
  ['drafts 08 and later', { ratelimit: '"burst";r=0;t=40', 'ratelimit-policy': '"burst";q=10;w=60' }],
  ['several policies', { ratelimit: '"burst";r=0;t=1, "day";r=0;t=40' }],
  ['Envoy, Kong, throttled: seconds', { 'x-ratelimit-reset': '40' }],
  ['SendGrid, GitHub: a time in seconds', { 'x-ratelimit-reset': epochSeconds }],
  ['Rocket.Chat: a time in milliseconds', { 'x-ratelimit-reset': epochMs }],
  ['a date', { 'x-ratelimit-reset': date }],
  ['an ISO date', { 'x-ratelimit-reset': new Date(IN_40_S).toISOString() }],
  ['with another hyphen', { 'x-rate-limit-reset': '40' }],
  ['of several limits, joined by Node.js', { 'x-ratelimit-reset': '1, 40' }],
  ['both, the same', { 'retry-after': '40', 'x-ratelimit-reset': '40' }],
  ['both, a time', { 'retry-after': '40', 'x-ratelimit-reset': epochMs }],
  ['both, a longer period', { 'retry-after': '40', 'x-ratelimit-reset': '3000' }],
  ['both, a date that is none', { 'retry-after': 'soon', 'x-ratelimit-reset': '40' }],
];

describe('email: how long a carrier asks to wait', () => {
  for (const [who, headers] of FORTY) {
    it(`${who}: ${JSON.stringify(headers)}`, () => {
      expect(readWait(headers, NOW)).to.equal(40_000);
    });
    it(`${who}, by a clock an hour behind`, () => {
      const sent = { ...headers, date: new Date(NOW).toUTCString() };
      expect(readWait(sent, NOW + 3_600_000)).to.equal(40_000);
    });
  }

  for (const [headers, waitMs] of [
    [{}, 1_000],
    [{ 'retry-after': '0' }, 1_000],
    [{ 'retry-after': '-5' }, 1_000],
    [{ 'retry-after': 'Infinity' }, 1_000],
    [{ 'retry-after': '' }, 1_000],
    [{ 'retry-after': 'Fri, 99 Foo 2026' }, 1_000],
    [{ 'retry-after': new Date(NOW - 5_000).toUTCString() }, 1_000],
    [{ 'x-ratelimit-reset': String(NOW / 1000 - 5) }, 1_000],
    [{ 'retry-after': '86400' }, 3_600_000],
    [{ 'retry-after': '9'.repeat(400) }, 3_600_000],
    [{ 'x-ratelimit-reset': '1, many' }, 1_000],
  ] as const) {
    it(`is at least a second and at most an hour: ${JSON.stringify(headers).slice(0, 60)}`, () => {
      expect(readWait(headers, NOW)).to.equal(waitMs);
    });
  }

  for (const reset of [['40'], ['40', '1']])
    it(`as it comes through a server: ${reset.join()}`, async () => {
      const server = http.createServer((request, response) => {
        request.resume();
        response.writeHead(429, { 'Retry-After': '40', 'X-RateLimit-Reset': reset }).end();
      });
      server.listen(0, '127.0.0.1');
      await once(server, 'listening');
      const carrier = openCarrier(postmark, `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
      const address = { email: 'ada@example.com', name: '' };
      const email = { tenantid: 1, deliveryid: '1', subject: '', html: '', cc: [], bcc: [], loaded: [] };
      const outcome = await carrier.send(
        { ...email, sender: address, recipients: [address] },
        { account: { kind: 'postmark', apikey: 'key' }, deadlineMs: 2_000, mayStart: () => true },
      );
      expect(outcome).to.deep.equal({ kind: 'rate_limited', httpStatus: 429, waitMs: 40_000 });
      carrier.close();
      server.close();
      await once(server, 'close');
    });
});
