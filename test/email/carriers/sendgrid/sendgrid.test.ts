import { expect } from 'chai';
import { carrierOptions } from '../../../support/openCarrier.js';
import { createCarriers } from '../../../../src/email/carriers/createCarriers.js';
import type { EmailMessage, Carriers, SendContext } from '../../../../src/email/carriers/sending.js';
import { findFreePort } from '../../../../src/embedded/freePort.js';
import { startFakeProvider, type Behavior, type FakeProvider } from '../../../support/fakeProvider.js';

const KEY = 'SG.canary-key';
const MESSAGE: EmailMessage = {
  tenantid: 7,
  deliveryid: '42',
  sender: { email: 'shop@example.com', name: 'The Shop' },
  recipients: [{ email: 'ada@example.com', name: 'Ada' }],
  cc: [],
  bcc: [{ email: 'log@example.com', name: '' }],
  subject: 'Hello',
  html: '<p>hello {{ not ours }}</p>',
};
const account = (apikey: string) => ({ kind: 'sendgrid', apikey }) as const;
const CONTEXT: SendContext = { account: account(KEY), deadlineMs: 400, mayStart: () => true };
const carriersAt = (url: string): Carriers => createCarriers(carrierOptions(url));
const errors = (message: string, field: string | null = null): string =>
  JSON.stringify({ errors: [{ message, field, help: null }] });

/** As RFC 2047 has it: the space between two encoded words is none. */
const decoded = (value: string): string =>
  value
    .replace(/\?= =\?UTF-8\?B\?/g, '?==?UTF-8?B?')
    .replace(/=\?UTF-8\?B\?([^?]*)\?=/g, (_, base64: string) => Buffer.from(base64, 'base64').toString());

describe('delivery: the provider through @sendgrid/mail (contract 5.7)', () => {
  let provider: FakeProvider;
  let carriers: Carriers;

  before(async () => {
    provider = await startFakeProvider();
    carriers = carriersAt(provider.url);
  });
  after(async () => {
    await carriers.close();
    await provider.stop();
  });
  const send = (behavior: Behavior, context: Partial<SendContext> = {}, message = MESSAGE) => {
    provider.behave = () => behavior;
    return carriers.send(message, { ...CONTEXT, ...context });
  };

  it("sends the message's fields, and nothing else", async () => {
    expect(await send({ kind: 'accept' })).to.deep.include({ kind: 'sent', httpStatus: 202 });
    const call = provider.calls.at(-1)!;
    expect(call.path).to.equal('/v3/mail/send');
    expect(call.apiKey).to.equal(KEY);
    expect(call.body).to.deep.equal({
      from: { email: 'shop@example.com', name: 'The Shop' },
      subject: 'Hello',
      personalizations: [
        { to: [{ email: 'ada@example.com', name: 'Ada' }], bcc: [{ email: 'log@example.com' }] },
      ],
      content: [{ type: 'text/html', value: '<p>hello {{ not ours }}</p>' }],
      custom_args: { deliveryid: '42', tenantid: '7' },
    });
  });

  it('sends all parts of an email in the order and encoding the provider requires', async () => {
    const words = 'Grüße an Jörg und alle anderen, die das hier auf der ganzen Welt lesen möchten 🎉';
    await send(
      { kind: 'accept' },
      {},
      {
        ...MESSAGE,
        text: 'hello',
        replyTo: [{ email: 'help@example.com', name: 'Hélp' }],
        headers: { 'Auto-Submitted': 'auto-generated', 'X-Note': words, 'List-ID': 'Ünï <news.example.com>' },
        categories: ['orders'],
        messageId: '<delivery.7.42@rowpost.example>',
      },
    );
    const { body } = provider.calls.at(-1)!;
    expect(body.content.map(({ type }) => type)).to.deep.equal(['text/plain', 'text/html']);
    expect(body.reply_to).to.deep.equal({ email: 'help@example.com', name: 'Hélp' });
    expect(body.categories).to.deep.equal(['orders']);
    const { 'X-Note': note = '', ...headers } = body.headers ?? {};
    expect(headers).to.deep.equal({
      'Auto-Submitted': 'auto-generated',
      'List-ID': '=?UTF-8?B?w5xuw68=?= <news.example.com>',
      'Message-ID': '<delivery.7.42@rowpost.example>',
    });
    expect(note).to.match(/^[ -~]+$/);
    for (const word of note.split(' ')) expect(word.length).to.be.at.most(75);
    expect(decoded(note)).to.equal(words);

    const replyTo = [MESSAGE.sender, MESSAGE.bcc[0]!];
    await send({ kind: 'accept' }, {}, { ...MESSAGE, replyTo });
    expect(provider.calls.at(-1)!.body).to.deep.include({
      reply_to_list: [{ email: 'shop@example.com', name: 'The Shop' }, { email: 'log@example.com' }],
    });
  });

  it('rejects addresses the provider does not accept, before the call', async () => {
    const foreign = { email: 'jörg@xn--exmple-cua.com', name: '' };
    const { length } = provider.calls;
    for (const changes of [
      { sender: foreign },
      { recipients: [...MESSAGE.recipients, foreign] },
      { cc: [foreign] },
      { replyTo: [foreign] },
    ]) {
      expect(await send({ kind: 'accept' }, {}, { ...MESSAGE, ...changes })).to.deep.include({
        kind: 'rejected',
        code: 'ADDRESS_NOT_ASCII',
      });
    }
    expect(provider.calls).to.have.length(length);
  });

  it('keeps the message id', async () => {
    expect(await send({ kind: 'reply', status: 202, headers: { 'x-message-id': 'abc' } })).to.include({
      providerMessageId: 'abc',
    });
  });

  const responses: readonly [number, string, Readonly<Record<string, string>>, object][] = [
    [400, errors('bad content'), {}, { kind: 'rejected', code: 'CARRIER_400', message: 'bad content' }],
    [404, '', {}, { kind: 'rejected', code: 'CARRIER_404' }],
    [405, '', {}, { kind: 'rejected' }],
    [406, '', {}, { kind: 'rejected' }],
    [
      413,
      '<html><h1>too large</h1></html>',
      {},
      { kind: 'rejected', message: 'the carrier responded with 413' },
    ],
    [451, '', {}, { kind: 'rejected' }],
    [
      401,
      errors('The provided authorization grant is invalid'),
      {},
      { kind: 'tenant_paused', code: 'APIKEY_REFUSED' },
    ],
    [401, errors('Maximum credits exceeded'), {}, { kind: 'tenant_paused', code: 'CREDITS_EXCEEDED' }],
    [403, errors('access forbidden'), {}, { kind: 'tenant_paused', code: 'ACCOUNT_BLOCKED' }],
    [
      403,
      errors('The from address does not match a verified Sender Identity.', 'from'),
      {},
      { kind: 'rejected', code: 'SENDER_NOT_VERIFIED' },
    ],
    [500, errors('oops'), {}, { kind: 'retry', ambiguous: true, httpStatus: 500 }],
    [503, '<html/>', {}, { kind: 'retry', ambiguous: true, httpStatus: 503 }],
    [
      302,
      '',
      { location: 'http://127.0.0.1:1/elsewhere' },
      { kind: 'retry', ambiguous: false, httpStatus: 302 },
    ],
    [202, '<<< not json', {}, { kind: 'sent' }],
    [400, errors(`key ${KEY} is odd`), {}, { message: 'key [key] is odd' }],
  ];
  for (const [status, body, headers, expected] of responses) {
    it(`${status} ${body.slice(0, 60)} → ${JSON.stringify(expected)}`, async () => {
      expect(await send({ kind: 'reply', status, body, headers })).to.deep.include(expected);
    });
  }

  it('429 → waits until X-RateLimit-Reset, or for Retry-After, within bounds', async () => {
    const wait = async (headers: Readonly<Record<string, string>>): Promise<number> => {
      const outcome = await send({ kind: 'reply', status: 429, headers });
      if (outcome.kind !== 'rate_limited') throw new Error(outcome.kind);
      return outcome.waitMs;
    };
    const inTenSeconds = String(Math.ceil(Date.now() / 1000) + 10);
    expect(await wait({ 'x-ratelimit-reset': inTenSeconds })).to.be.within(8_000, 11_100);
    expect(await wait({ 'retry-after': '7' })).to.equal(7_000);
    expect(await wait({ 'retry-after': new Date(Date.now() + 5_000).toUTCString() })).to.be.within(
      3_000,
      5_100,
    );
    expect(await wait({})).to.equal(1_000);
    expect(await wait({ 'retry-after': 'soon' })).to.equal(1_000);
    expect(await wait({ 'x-ratelimit-reset': '99999999999' })).to.equal(3_600_000);
  });

  it('a carrier that does not respond in time may have taken the email', async () => {
    for (const kind of ['hang', 'header-drip'] as const) {
      const outcome = await send({ kind });
      expect(outcome).to.include({ kind: 'retry', ambiguous: true, code: 'CARRIER_TIMEOUT' });
    }
  });

  it('a slow body after 202 is a sent email', async () => {
    const begun = Date.now();
    expect(await send({ kind: 'body-drip' })).to.include({ kind: 'sent', httpStatus: 202 });
    expect(Date.now() - begun).to.be.below(30_000);
  });

  it('an oversized response is determined by its status', async () => {
    const body = JSON.stringify({ errors: [{ message: 'x'.repeat(2_000_000) }] });
    expect(await send({ kind: 'reply', status: 400, body }, { deadlineMs: 5_000 })).to.deep.include({
      kind: 'rejected',
      message: 'the carrier responded with 400',
    });
  });

  it('an empty error list is determined by its status', async () => {
    const body = '{"errors":[null,1,"x",{}]}';
    expect(await send({ kind: 'reply', status: 202, body })).to.include({ kind: 'sent' });
    expect(await send({ kind: 'reply', status: 400, body })).to.include({ kind: 'rejected' });
  });

  it('a key invalid in a header sends nothing', async () => {
    const before = provider.calls.length;
    expect(await send({ kind: 'accept' }, { account: account('SG.a\nb') })).to.deep.include({
      kind: 'retry',
      ambiguous: false,
      code: 'ERR_INVALID_CHAR',
    });
    expect(provider.calls).to.have.length(before);
  });

  it('keeps the path of the base URL', async () => {
    const beneath = carriersAt(`${provider.url}/proxy/`);
    provider.behave = () => ({ kind: 'accept' });
    await beneath.send(MESSAGE, CONTEXT);
    await beneath.close();
    expect(provider.calls.at(-1)?.path).to.match(/^\/+proxy\/v3\/mail\/send$/);
  });

  it('a connection reset once the request was written may have taken the email', async () => {
    expect(await send({ kind: 'reset-after' })).to.include({
      kind: 'retry',
      ambiguous: true,
      code: 'ECONNRESET',
    });
    provider.refuseUnread = true;
    expect(await send({ kind: 'accept' })).to.include({ kind: 'retry', ambiguous: true });
    provider.refuseUnread = false;
  });

  it('a connection that was never established did not take it', async () => {
    const port = await findFreePort();
    for (const [baseUrl, code] of [
      [`http://127.0.0.1:${port}/`, 'ECONNREFUSED'],
      ['http://no-such-host.invalid/', 'ENOTFOUND'],
    ] as const) {
      const nowhere = carriersAt(baseUrl);
      const outcome = await nowhere.send(MESSAGE, { ...CONTEXT, deadlineMs: 5_000 });
      expect(outcome).to.include({ kind: 'retry', ambiguous: false });
      if (code === 'ECONNREFUSED') expect(outcome).to.include({ code });
      await nowhere.close();
    }
  });

  it('checks the lease just before writing the request', async () => {
    const before = provider.calls.length;
    expect(await send({ kind: 'accept' }, { mayStart: () => false })).to.deep.equal({ kind: 'fenced' });
    expect(provider.calls).to.have.length(before);
  });

  it('checks the lease after waiting for a connection, not before', async () => {
    const free = carriersAt(provider.url);
    provider.behave = () => ({ kind: 'slow', ms: 200 });
    const before = provider.calls.length;
    const patient = { ...CONTEXT, deadlineMs: 5_000 };
    const connections = 256;
    const others = Array.from({ length: connections }, () => free.send(MESSAGE, patient));
    const oursUntilMs = performance.now() + 50;
    const late = await free.send(MESSAGE, { ...patient, mayStart: () => performance.now() < oursUntilMs });
    expect(late).to.deep.equal({ kind: 'fenced' });
    for (const other of await Promise.all(others)) expect(other).to.include({ kind: 'sent' });
    expect(provider.calls.length - before).to.equal(connections);
    await free.close();
  });

  it("puts a recipient's name with punctuation in quotes, and leaves the sender's as it is", async () => {
    const name = 'Lovelace, Ada; PhD';
    await send(
      { kind: 'accept' },
      {},
      {
        ...MESSAGE,
        sender: { email: 'shop@example.com', name },
        recipients: [
          { email: 'a@x.example', name },
          { email: 'b@x.example', name: 'The "Ö" \\' },
          { email: 'c@x.example', name: "Zoë O'Hara-Smith Jr." },
        ],
        cc: [{ email: 'd@x.example', name }],
      },
    );
    const { from, personalizations } = provider.calls.at(-1)!.body;
    expect(from.name).to.equal(name);
    expect(personalizations[0]?.to.map((recipient) => recipient.name)).to.deep.equal([
      '"Lovelace, Ada; PhD"',
      '"The \\"Ö\\" \\\\"',
      "Zoë O'Hara-Smith Jr.",
    ]);
    expect(personalizations[0]?.cc).to.deep.equal([{ email: 'd@x.example', name: '"Lovelace, Ada; PhD"' }]);
  });

  it("sends nothing the provider can't accept", async () => {
    const before = provider.calls.length;
    const recipients = Array.from({ length: 1001 }, (_, i) => ({ email: `a${i}@example.com`, name: '' }));
    expect(await send({ kind: 'accept' }, {}, { ...MESSAGE, recipients })).to.include({
      code: 'TOO_MANY_RECIPIENTS',
    });
    const html = 'x'.repeat(30_000_001);
    expect(await send({ kind: 'accept' }, {}, { ...MESSAGE, html })).to.include({ code: 'EMAIL_TOO_LARGE' });
    expect(provider.calls).to.have.length(before);
  });

  it('never mixes up tenants’ keys in concurrent calls', async () => {
    provider.behave = () => ({ kind: 'slow', ms: Math.random() * 20 });
    await Promise.all(
      Array.from({ length: 200 }, (_, i) =>
        carriers.send(
          { ...MESSAGE, tenantid: i % 20, deliveryid: `mix-${i}` },
          { ...CONTEXT, account: account(`SG.tenant-${i % 20}`), deadlineMs: 5_000 },
        ),
      ),
    );
    const mixed = provider.calls.filter((call) => call.deliveryid.startsWith('mix-'));
    expect(mixed).to.have.length(200);
    for (const call of mixed) expect(call.apiKey).to.equal(`SG.tenant-${call.tenantid}`);
  });
});
