import { simpleParser } from 'mailparser';
import { expect } from 'chai';
import type { Account } from '../../../src/email/carriers/account.js';
import type { Carrier, CarrierDefinition, LoadedEmail } from '../../../src/email/carriers/carrier.js';
import { brevo } from '../../../src/email/carriers/brevo/brevo.js';
import { mailgun } from '../../../src/email/carriers/mailgun/mailgun.js';
import { postmark } from '../../../src/email/carriers/postmark/postmark.js';
import { resend } from '../../../src/email/carriers/resend/resend.js';
import { openCarrier } from '../../support/openCarrier.js';
import { startFakeApi, type ApiResponse, type FakeApi } from '../../support/fakeApi.js';

const EMAIL: LoadedEmail = {
  tenantid: 7,
  deliveryid: '42',
  sender: { email: 'shop@example.com', name: 'The Grüne Shop' },
  recipients: [
    { email: 'ada@example.com', name: 'Ada' },
    { email: 'bob@example.com', name: '' },
  ],
  cc: [{ email: 'cc@example.com', name: '' }],
  bcc: [{ email: 'log@example.com', name: '' }],
  subject: 'Grüße',
  html: '<p>Grüße</p>',
  text: 'Grüße',
  replyTo: [{ email: 'help@example.com', name: '' }],
  headers: { 'Auto-Submitted': 'auto-generated', 'X-Note': 'Ünï' },
  categories: ['orders', 'not a tag!'],
  messageId: '<delivery.7.42@rowpost.example>',
  idempotencyKey: 'delivery.7.42@rowpost.example',
  loaded: [
    { filename: 'a.txt', mimetype: 'text/plain', size: 2, objectkey: 'a', base64: 'aGk=' },
    { filename: 'l.png', mimetype: 'image/png', size: 2, objectkey: 'b', contentId: 'logo', base64: 'aGk=' },
  ],
};
const KEY = 'canary-key';

/** The documented responses of a carrier, and what each means. */
type Fixtures = readonly (readonly [
  status: number,
  body: unknown,
  outcome: object,
  headers?: Record<string, string>,
])[];

const RESEND: Fixtures = [
  [200, { id: '49a3999c' }, { kind: 'sent', providerMessageId: '49a3999c' }],
  [
    400,
    { name: 'validation_error', message: 'bad field' },
    { kind: 'rejected', code: 'CARRIER_400', message: 'bad field' },
  ],
  [422, { name: 'invalid_from_address', message: 'bad from' }, { kind: 'rejected', code: 'CARRIER_422' }],
  [401, { name: 'missing_api_key', message: 'none' }, { kind: 'tenant_paused', code: 'APIKEY_REFUSED' }],
  [
    403,
    { name: 'invalid_api_key', message: `key ${KEY}` },
    { kind: 'tenant_paused', code: 'APIKEY_REFUSED', message: 'key [key]' },
  ],
  [
    403,
    { name: 'validation_error', message: 'domain is not verified' },
    { kind: 'rejected', code: 'SENDER_NOT_VERIFIED' },
  ],
  [403, { name: 'suspended', message: 'suspended' }, { kind: 'tenant_paused', code: 'ACCOUNT_BLOCKED' }],
  [
    409,
    { name: 'invalid_idempotent_request', message: 'x' },
    { kind: 'retry', ambiguous: true, httpStatus: 409, code: 'IDEMPOTENCY_KEY_USED' },
  ],
  [409, { name: 'concurrent_idempotent_requests', message: 'x' }, { kind: 'retry', ambiguous: true }],
  [
    429,
    { name: 'rate_limit_exceeded', message: 'x' },
    { kind: 'rate_limited', waitMs: 3_000 },
    { 'retry-after': '3' },
  ],
  [429, { name: 'daily_quota_exceeded', message: 'x' }, { kind: 'rate_limited', waitMs: 3_600_000 }],
  [
    429,
    { name: 'monthly_quota_exceeded', message: 'x' },
    { kind: 'tenant_paused', code: 'CREDITS_EXCEEDED' },
  ],
  [451, { name: 'security_error', message: 'x' }, { kind: 'rejected', code: 'CARRIER_451' }],
  [500, { name: 'application_error', message: 'x' }, { kind: 'retry', ambiguous: true, code: 'CARRIER_500' }],
  [503, '<html/>', { kind: 'retry', ambiguous: true }],
];

const POSTMARK: Fixtures = [
  [
    200,
    { ErrorCode: 0, Message: 'OK', MessageID: 'b7bc2f4a' },
    { kind: 'sent', providerMessageId: 'b7bc2f4a' },
  ],
  [401, { ErrorCode: 10, Message: 'bad token' }, { kind: 'tenant_paused', code: 'APIKEY_REFUSED' }],
  [422, { ErrorCode: 10, Message: 'bad token' }, { kind: 'tenant_paused', code: 'APIKEY_REFUSED' }],
  [
    422,
    { ErrorCode: 300, Message: 'invalid' },
    { kind: 'rejected', code: 'CARRIER_422', message: 'invalid' },
  ],
  [422, { ErrorCode: 400, Message: 'no signature' }, { kind: 'rejected', code: 'SENDER_NOT_VERIFIED' }],
  [422, { ErrorCode: 401, Message: 'not confirmed' }, { kind: 'rejected', code: 'SENDER_NOT_VERIFIED' }],
  [422, { ErrorCode: 405, Message: 'out of credits' }, { kind: 'tenant_paused', code: 'CREDITS_EXCEEDED' }],
  [422, { ErrorCode: 406, Message: 'inactive' }, { kind: 'rejected', code: 'RECIPIENT_REFUSED' }],
  [422, { ErrorCode: 412, Message: 'pending' }, { kind: 'tenant_paused', code: 'ACCOUNT_BLOCKED' }],
  [422, { ErrorCode: 413, Message: 'may not send' }, { kind: 'tenant_paused', code: 'ACCOUNT_BLOCKED' }],
  [413, '', { kind: 'rejected', code: 'CARRIER_413' }],
  [429, { ErrorCode: 429, Message: 'x' }, { kind: 'rate_limited' }],
  [500, { ErrorCode: 0, Message: 'x' }, { kind: 'retry', ambiguous: true }],
  [503, '', { kind: 'retry', ambiguous: true }],
];

const MAILGUN: Fixtures = [
  [
    200,
    { id: '<2026@example.com>', message: 'Queued. Thank you.' },
    { kind: 'sent', providerMessageId: '<2026@example.com>' },
  ],
  [
    400,
    { message: "'to' is not valid" },
    { kind: 'rejected', code: 'CARRIER_400', message: "'to' is not valid" },
  ],
  [401, 'Forbidden', { kind: 'tenant_paused', code: 'APIKEY_REFUSED' }],
  [402, { message: 'x' }, { kind: 'tenant_paused', code: 'ACCOUNT_BLOCKED' }],
  [403, { message: 'disabled' }, { kind: 'tenant_paused', code: 'ACCOUNT_BLOCKED' }],
  [404, { message: 'Domain not found' }, { kind: 'tenant_paused', code: 'ACCOUNT_BLOCKED' }],
  [413, '', { kind: 'rejected', code: 'CARRIER_413' }],
  [
    420,
    {
      message:
        'Domain mg.example.com is not allowed to send: recipient limit exceeded, try again after Mon, 25 Aug 2025 07:00:31 UTC',
    },
    { kind: 'rate_limited', waitMs: 40_000 },
    { date: 'Mon, 25 Aug 2025 06:59:51 GMT' },
  ],
  [420, { message: 'limit exceeded' }, { kind: 'rate_limited', waitMs: 60_000 }],
  [429, { message: 'x' }, { kind: 'rate_limited', waitMs: 7_000 }, { 'retry-after': '7' }],
  [500, { message: 'x' }, { kind: 'retry', ambiguous: true }],
];

const BREVO: Fixtures = [
  [
    201,
    { messageId: '<2026@smtp-relay.mailin.fr>' },
    { kind: 'sent', providerMessageId: '<2026@smtp-relay.mailin.fr>' },
  ],
  [
    400,
    { code: 'invalid_parameter', message: 'email is not valid in to' },
    { kind: 'rejected', code: 'CARRIER_400', message: 'email is not valid in to' },
  ],
  [
    400,
    {
      code: 'invalid_parameter',
      message: 'Sending has been rejected because the sender you used shop@example.com is not valid.',
    },
    { kind: 'rejected', code: 'SENDER_NOT_VERIFIED' },
  ],
  [400, { code: 'not_enough_credits', message: 'x' }, { kind: 'tenant_paused', code: 'CREDITS_EXCEEDED' }],
  [
    401,
    { code: 'unauthorized', message: KEY },
    { kind: 'tenant_paused', code: 'APIKEY_REFUSED', message: '[key]' },
  ],
  [402, { code: 'not_enough_credits', message: 'x' }, { kind: 'tenant_paused', code: 'CREDITS_EXCEEDED' }],
  [
    403,
    { code: 'account_under_validation', message: 'x' },
    { kind: 'tenant_paused', code: 'ACCOUNT_BLOCKED' },
  ],
  [413, '', { kind: 'rejected', code: 'CARRIER_413' }],
  [429, { message: 'x' }, { kind: 'rate_limited', waitMs: 7_000 }, { 'x-sib-ratelimit-reset': '7' }],
  [429, { code: 'unauthorized' }, { kind: 'rate_limited', waitMs: 9_000 }, { 'retry-after': '9' }],
  [500, { code: 'permission_denied', message: 'x' }, { kind: 'retry', ambiguous: true }],
];

describe('delivery: through HTTP carriers', () => {
  let api: FakeApi;
  const opened: Carrier[] = [];

  before(async () => {
    api = await startFakeApi();
  });
  after(async () => {
    for (const carrier of opened) carrier.close();
    await api.stop();
  });
  /** What holds of each. */
  function behaves<A extends Account>(
    account: A,
    definition: CarrierDefinition<A>,
    fixtures: Fixtures,
    verifyPath: string,
  ): void {
    let carrier: Carrier<A>;
    before(() => {
      carrier = openCarrier(definition, api.url);
      opened.push(carrier);
    });
    const send = (response: ApiResponse, email = EMAIL, mayStart = () => true) => {
      api.reply = () => response;
      return carrier.send(email, { account, deadlineMs: 400, mayStart });
    };

    for (const [status, body, outcome, headers = {}] of fixtures) {
      it(`${status} ${JSON.stringify(body).slice(0, 50)} → ${JSON.stringify(outcome)}`, async () => {
        expect(await send({ status, body, headers })).to.include(outcome);
      });
    }

    it('a lost response is ambiguous, a call that was not made is not', async () => {
      expect(await send('cut')).to.include({ kind: 'retry', ambiguous: true, code: 'ECONNRESET' });
      expect(await send('hang')).to.include({ kind: 'retry', ambiguous: true, code: 'CARRIER_TIMEOUT' });
      const before = api.calls.length;
      expect(await send({ status: 200 }, EMAIL, () => false)).to.deep.equal({ kind: 'fenced' });
      expect(api.calls).to.have.length(before);
    });

    it('verifies an account without sending', async () => {
      api.reply = ({ method, path }) => ({ status: method === 'GET' && path === verifyPath ? 200 : 500 });
      expect(await carrier.verify(account, 400)).to.deep.equal({ ok: true });
      api.reply = () => ({ status: 401, body: { message: `bad ${KEY}`, Message: `bad ${KEY}` } });
      const refused = await carrier.verify(account, 400);
      expect(refused).to.deep.equal({ ok: false, message: 'the carrier responded with 401: bad [key]' });
    });
  }

  describe('Resend', () => {
    const account = { kind: 'resend', apikey: KEY, shareCalls: false } as const;
    behaves(account, resend, RESEND, '/domains');

    it("receives the whole email, and the delivery's idempotency key", async () => {
      api.reply = () => ({ status: 200, body: { id: '1' } });
      await opened[0]!.send(EMAIL, { account, deadlineMs: 400, mayStart: () => true });
      const { method, path, headers, body } = api.calls.at(-1)!;
      expect([method, path]).to.deep.equal(['POST', '/emails']);
      expect(headers).to.include({
        authorization: `Bearer ${KEY}`,
        'idempotency-key': 'delivery.7.42@rowpost.example',
      });
      expect(JSON.parse(body.toString())).to.deep.equal({
        from: 'The Grüne Shop <shop@example.com>',
        to: ['Ada <ada@example.com>', 'bob@example.com'],
        cc: ['cc@example.com'],
        bcc: ['log@example.com'],
        reply_to: ['help@example.com'],
        subject: 'Grüße',
        html: '<p>Grüße</p>',
        text: 'Grüße',
        headers: { 'Auto-Submitted': 'auto-generated', 'X-Note': '=?UTF-8?B?w5xuw68=?=' },
        attachments: [
          { filename: 'a.txt', content: 'aGk=', content_type: 'text/plain' },
          { filename: 'l.png', content: 'aGk=', content_type: 'image/png', content_id: 'logo' },
        ],
        tags: [
          { name: 'deliveryid', value: '42' },
          { name: 'tenantid', value: '7' },
          { name: 'category_1', value: 'orders' },
          { name: 'recipients', value: '4' },
        ],
      });
    });

    it('recognizes a send-only key', async () => {
      api.reply = () => ({ status: 401, body: { name: 'restricted_api_key', message: 'x' } });
      expect(await opened[0]!.verify(account, 400)).to.deep.equal({ ok: true });
    });
  });

  describe('Postmark', () => {
    const account = { kind: 'postmark', apikey: KEY, messageStream: 'outbound' } as const;
    behaves(account, postmark, POSTMARK, '/server');

    /** As Postmark and its clients have had it over the years. */
    const INACTIVE = [
      'Message OK, but will not deliver to these inactive addresses: $',
      'Message OK, but will not deliver to these inactive addresses: $.',
      'Message OK, but will not deliver to these inactive addresses: $. Inactive recipients are ones that have generated a hard bounce or a spam complaint.',
      'You tried to send to recipient(s) that have been marked as inactive. Found inactive addresses: $. Inactive recipients are ones that have generated a hard bounce, a spam complaint, or a manual suppression. ',
    ];
    const DOTTED = {
      ...EMAIL,
      recipients: [...EMAIL.recipients, { email: 'Bob.B@Sub.Example.com', name: 'Bob, B' }],
    };
    const addressesOf = (outcome: object): readonly string[] =>
      (outcome as { refused?: readonly { address: string }[] }).refused?.map(({ address }) => address) ?? [];

    for (const message of INACTIVE) {
      for (const listed of [[], ['log@example.com'], ['bob.b@sub.example.com', 'cc@example.com']]) {
        it(`${message.slice(0, 110)} (${listed.length} of them)`, async () => {
          const Message = message.replace('$', listed.join(', '));
          const isSent = message.startsWith('Message OK');
          const [status, ErrorCode] = isSent ? [200, 0] : [422, 406];
          api.reply = () => ({ status, body: { ErrorCode, Message, MessageID: '1' } });
          const outcome = await opened[1]!.send(DOTTED, { account, deadlineMs: 400, mayStart: () => true });
          expect(outcome).to.include(isSent ? { kind: 'sent' } : { code: 'RECIPIENT_REFUSED' });
          const all = [...DOTTED.recipients, ...DOTTED.cc, ...DOTTED.bcc].map(({ email }) => email);
          const expected = all.filter((address) => listed.includes(address.toLowerCase()));
          expect(addressesOf(outcome)).to.have.members(expected.length > 0 || isSent ? expected : all);
        });
      }
    }

    it('an inactive address in a spelling of its own is recorded in that', async () => {
      const Message = 'Message OK, but will not deliver to these inactive addresses: b@exämple.com';
      api.reply = () => ({ status: 200, body: { ErrorCode: 0, Message, MessageID: '1' } });
      const outcome = await opened[1]!.send(EMAIL, { account, deadlineMs: 400, mayStart: () => true });
      expect(addressesOf(outcome)).to.deep.equal(['b@exämple.com']);
    });

    it('no more inactive addresses are recorded than the email has, and none of any length', async () => {
      const listed = Array.from({ length: 5_000 }, (_, n) => `a${n}@example.com`);
      const Message = `Message OK, but will not deliver to these inactive addresses: ${'a'.repeat(9_000)}@example.com, ${listed.join(', ')}`;
      api.reply = () => ({ status: 200, body: { ErrorCode: 0, Message, MessageID: '1' } });
      const outcome = await opened[1]!.send(EMAIL, { account, deadlineMs: 400, mayStart: () => true });
      expect(addressesOf(outcome)).to.deep.equal(listed.slice(0, 4));
    });

    it('receives the whole email', async () => {
      api.reply = () => ({ status: 200, body: { MessageID: '1' } });
      await opened[1]!.send(EMAIL, { account, deadlineMs: 400, mayStart: () => true });
      const { method, path, headers, body } = api.calls.at(-1)!;
      expect([method, path]).to.deep.equal(['POST', '/email']);
      expect(headers).to.include({ 'x-postmark-server-token': KEY });
      expect(JSON.parse(body.toString())).to.deep.equal({
        From: 'The Grüne Shop <shop@example.com>',
        To: 'Ada <ada@example.com>, bob@example.com',
        Cc: 'cc@example.com',
        Bcc: 'log@example.com',
        ReplyTo: 'help@example.com',
        Subject: 'Grüße',
        HtmlBody: '<p>Grüße</p>',
        TextBody: 'Grüße',
        Headers: [
          { Name: 'Auto-Submitted', Value: 'auto-generated' },
          { Name: 'X-Note', Value: '=?UTF-8?B?w5xuw68=?=' },
          { Name: 'Message-ID', Value: '<delivery.7.42@rowpost.example>' },
          { Name: 'X-PM-KeepID', Value: 'true' },
        ],
        Tag: 'orders',
        Metadata: { deliveryid: '42', tenantid: '7' },
        MessageStream: 'outbound',
        Attachments: [
          { Name: 'a.txt', Content: 'aGk=', ContentType: 'text/plain' },
          { Name: 'l.png', Content: 'aGk=', ContentType: 'image/png', ContentID: 'cid:logo' },
        ],
      });
    });
  });

  describe('Mailgun', () => {
    const account = { kind: 'mailgun', apikey: KEY, domain: 'mg.example.com', region: 'us' } as const;
    behaves(account, mailgun, MAILGUN, '/v3/domains/mg.example.com');

    it('receives the raw message', async () => {
      api.reply = () => ({ status: 200, body: { id: '1' } });
      await opened[2]!.send(EMAIL, { account, deadlineMs: 400, mayStart: () => true });
      const { method, path, headers, body } = api.calls.at(-1)!;
      expect([method, path]).to.deep.equal(['POST', '/v3/mg.example.com/messages.mime']);
      expect(headers.authorization).to.equal(`Basic ${Buffer.from(`api:${KEY}`).toString('base64')}`);
      const request = new Response(new Uint8Array(body), {
        headers: { 'content-type': headers['content-type'] ?? '' },
      });
      // eslint-disable-next-line @typescript-eslint/no-deprecated -- of servers, for what strangers send
      const form = await request.formData();
      expect(form.getAll('to')).to.deep.equal([
        'ada@example.com',
        'bob@example.com',
        'cc@example.com',
        'log@example.com',
      ]);
      expect(form.getAll('o:tag')).to.deep.equal(['orders', 'not a tag!']);
      expect([form.get('v:deliveryid'), form.get('v:tenantid')]).to.deep.equal(['42', '7']);
      const parsed = await simpleParser(Buffer.from(await (form.get('message') as Blob).arrayBuffer()));
      expect([parsed.subject, parsed.text, parsed.messageId]).to.deep.equal([
        'Grüße',
        'Grüße',
        EMAIL.messageId,
      ]);
      expect(parsed.attachments.map(({ filename }) => filename)).to.have.members(['a.txt', 'l.png']);
      expect(parsed.bcc).to.equal(undefined);
    });
  });

  describe('Brevo', () => {
    const account = { kind: 'brevo', apikey: KEY } as const;
    behaves(account, brevo, BREVO, '/v3/account');

    it('receives the whole email', async () => {
      api.reply = () => ({ status: 201, body: { messageId: '1' } });
      const carrier = openCarrier(brevo, api.url);
      await carrier.send(EMAIL, { account, deadlineMs: 400, mayStart: () => true });
      carrier.close();
      const { method, path, headers, body } = api.calls.at(-1)!;
      expect([method, path]).to.deep.equal(['POST', '/v3/smtp/email']);
      expect(headers).to.include({ 'api-key': KEY });
      expect(JSON.parse(body.toString())).to.deep.equal({
        sender: { email: 'shop@example.com', name: '=?UTF-8?B?VGhlIEdyw7xuZSBTaG9w?=' },
        to: [{ email: 'ada@example.com', name: 'Ada' }, { email: 'bob@example.com' }],
        cc: [{ email: 'cc@example.com' }],
        bcc: [{ email: 'log@example.com' }],
        replyTo: { email: 'help@example.com' },
        subject: 'Grüße',
        htmlContent: '<p>Grüße</p>',
        textContent: 'Grüße',
        headers: {
          'Auto-Submitted': 'auto-generated',
          'X-Note': '=?UTF-8?B?w5xuw68=?=',
          'X-Mailin-custom': '{"deliveryid":"42","tenantid":"7"}',
        },
        tags: ['orders', 'not a tag!'],
        attachment: [
          { name: 'a.txt', content: 'aGk=' },
          { name: 'l.png', content: 'aGk=' },
        ],
      });
    });
  });
});
