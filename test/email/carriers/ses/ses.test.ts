import { createHash, createHmac } from 'node:crypto';
import { simpleParser } from 'mailparser';
import { expect } from 'chai';
import type { LoadedEmail } from '../../../../src/email/carriers/carrier.js';
import type { Carrier } from '../../../../src/email/carriers/carrier.js';
import { ses, type SesAccount } from '../../../../src/email/carriers/ses/ses.js';
import { openCarrier } from '../../../support/openCarrier.js';
import { startFakeApi, type ApiResponse, type ApiCall, type FakeApi } from '../../../support/fakeApi.js';

const SECRET = 'canary-secret';
const ACCOUNT = {
  kind: 'ses',
  accessKeyId: 'AKIACANARY',
  secretAccessKey: SECRET,
  region: 'eu-central-1',
  configurationSet: 'events',
} as const;
const EMAIL: LoadedEmail = {
  tenantid: 7,
  deliveryid: '42',
  sender: { email: 'shop@example.com', name: 'The Grüne Shop' },
  recipients: [{ email: 'ada@example.com', name: 'Ada' }],
  cc: [{ email: 'cc@example.com', name: '' }],
  bcc: [{ email: 'log@example.com', name: '' }],
  subject: 'Grüße',
  html: '<p>Grüße</p>',
  text: 'Grüße',
  headers: { 'Auto-Submitted': 'auto-generated', 'X-Note': 'Ünï' },
  categories: ['orders', 'not a tag!'],
  messageId: '<delivery.7.42@rowpost.example>',
  loaded: [{ filename: 'ä.txt', mimetype: 'text/plain', size: 2, objectkey: 'a', base64: 'aGk=' }],
};

/** SES's side of the signature, as its documentation describes it, without the library. */
function signatureOf({ method, path, headers, body }: ApiCall): string {
  const { authorization = '' } = headers;
  const [, scope = '', names = ''] =
    /Credential=AKIACANARY\/(\S+), SignedHeaders=(\S+), /.exec(authorization) ?? [];
  const sha256 = (data: string | Buffer): string => createHash('sha256').update(data).digest('hex');
  const canonical = [
    method,
    path,
    '',
    ...names.split(';').map((name) => `${name}:${String(headers[name])}`),
    '',
    names,
    sha256(body),
  ].join('\n');
  const toSign = ['AWS4-HMAC-SHA256', headers['x-amz-date'], scope, sha256(canonical)].join('\n');
  const key = scope
    .split('/')
    .reduce<Buffer | string>(
      (last, part) => createHmac('sha256', last).update(part).digest(),
      `AWS4${SECRET}`,
    );
  return createHmac('sha256', key).update(toSign).digest('hex');
}

/** The documented errors, and what each means. */
const ANSWERS: readonly (readonly [status: number, name: string, message: string, outcome: object])[] = [
  [
    400,
    'MessageRejected',
    'invalid content',
    { kind: 'rejected', code: 'CARRIER_400', message: 'invalid content' },
  ],
  [
    400,
    'MessageRejected',
    'Email address is not verified. The following identities failed the check',
    { kind: 'rejected', code: 'SENDER_NOT_VERIFIED' },
  ],
  [400, 'MailFromDomainNotVerifiedException', 'x', { kind: 'rejected', code: 'SENDER_NOT_VERIFIED' }],
  [400, 'BadRequestException', 'x', { kind: 'rejected', code: 'CARRIER_400' }],
  [400, 'AccountSuspendedException', 'x', { kind: 'tenant_paused', code: 'ACCOUNT_BLOCKED' }],
  [400, 'SendingPausedException', 'x', { kind: 'tenant_paused', code: 'ACCOUNT_BLOCKED' }],
  [404, 'NotFoundException', 'no such configuration set', { kind: 'tenant_paused', code: 'ACCOUNT_BLOCKED' }],
  [
    429,
    'TooManyRequestsException',
    'Maximum sending rate exceeded.',
    { kind: 'rate_limited', waitMs: 1_000 },
  ],
  [
    429,
    'TooManyRequestsException',
    'Daily message quota exceeded.',
    { kind: 'rate_limited', waitMs: 3_600_000 },
  ],
  [400, 'ThrottlingException', 'x', { kind: 'rate_limited' }],
  [400, 'LimitExceededException', 'x', { kind: 'rate_limited', waitMs: 3_600_000 }],
  [403, 'UnrecognizedClientException', 'x', { kind: 'tenant_paused', code: 'APIKEY_REFUSED' }],
  [403, 'InvalidSignatureException', 'it does not match', { kind: 'tenant_paused', code: 'APIKEY_REFUSED' }],
  [403, 'ExpiredTokenException', `key ${SECRET}`, { kind: 'tenant_paused', message: 'key [key]' }],
  [
    403,
    'AccessDeniedException',
    'not authorized to perform `ses:SendEmail` on resource `arn:aws:ses:eu-central-1:1:identity/a@b.org`',
    { kind: 'rejected', code: 'SENDER_NOT_VERIFIED' },
  ],
  [
    403,
    'InvalidSignatureException',
    'Signature expired: 1 is now earlier than 2',
    { kind: 'retry', ambiguous: false },
  ],
  [400, 'RequestExpired', 'x', { kind: 'retry', ambiguous: false }],
  [413, 'RequestEntityTooLargeException', 'x', { kind: 'rejected', code: 'CARRIER_413' }],
  [500, 'InternalFailure', 'x', { kind: 'retry', ambiguous: true, code: 'CARRIER_500' }],
  [503, 'ServiceUnavailable', 'x', { kind: 'retry', ambiguous: true }],
];

describe('delivery: through Amazon SES', () => {
  let api: FakeApi;
  let carrier: Carrier<SesAccount>;

  before(async () => {
    api = await startFakeApi();
    carrier = openCarrier(ses, api.url);
  });
  after(async () => {
    carrier.close();
    await api.stop();
  });
  const send = (response: ApiResponse, mayStart = () => true) => {
    api.reply = () => response;
    return carrier.send(EMAIL, { account: ACCOUNT, deadlineMs: 400, mayStart });
  };

  for (const [status, name, message, outcome] of ANSWERS) {
    it(`${status} ${name}: ${message} → ${JSON.stringify(outcome)}`, async () => {
      const headers = { 'x-amzn-errortype': `${name}:http://internal.amazon.com/coral/` };
      expect(await send({ status, headers, body: { message } })).to.include(outcome);
      const inBody = { __type: `com.amazonaws.sesv2#${name}`, Message: message };
      expect(await send({ status, body: inBody })).to.include(outcome);
    });
  }

  it('receives the raw message in a signed request', async () => {
    expect(await send({ status: 200, body: { MessageId: '0107' } })).to.deep.include({
      kind: 'sent',
      providerMessageId: '0107',
    });
    const call = api.calls.at(-1)!;
    expect([call.method, call.path]).to.deep.equal(['POST', '/v2/email/outbound-emails']);
    expect(call.headers.authorization)
      .to.match(/^AWS4-HMAC-SHA256 Credential=AKIACANARY\/\d{8}\/eu-central-1\/ses\/aws4_request, /)
      .and.match(/SignedHeaders=[^,]*content-type[^,]*host[^,]*x-amz-date/)
      .and.include(`Signature=${signatureOf(call)}`);
    const { Content, ...rest } = JSON.parse(call.body.toString()) as { Content: { Raw: { Data: string } } };
    expect(rest).to.deep.equal({
      FromEmailAddress: 'shop@example.com',
      Destination: {
        ToAddresses: ['ada@example.com'],
        CcAddresses: ['cc@example.com'],
        BccAddresses: ['log@example.com'],
      },
      EmailTags: [
        { Name: 'deliveryid', Value: '42' },
        { Name: 'tenantid', Value: '7' },
        { Name: 'category_1', Value: 'orders' },
      ],
      ConfigurationSetName: 'events',
    });
    const parsed = await simpleParser(Buffer.from(Content.Raw.Data, 'base64'));
    expect([parsed.subject, parsed.text, parsed.from?.text, parsed.headers.get('x-note')]).to.deep.equal([
      'Grüße',
      'Grüße',
      '"The Grüne Shop" <shop@example.com>',
      '=?UTF-8?B?w5xuw68=?=',
    ]);
    expect(parsed.attachments.map(({ filename }) => filename)).to.deep.equal(['ä.txt']);
    expect(parsed.bcc).to.equal(undefined);
  });

  it('a lost response is ambiguous, a call that was not made is not', async () => {
    expect(await send('cut')).to.include({ kind: 'retry', ambiguous: true, code: 'ECONNRESET' });
    expect(await send('hang')).to.include({ kind: 'retry', ambiguous: true, code: 'CARRIER_TIMEOUT' });
    const before = api.calls.length;
    expect(await send({ status: 200 }, () => false)).to.deep.equal({ kind: 'fenced' });
    expect(api.calls).to.have.length(before);
  });

  it('verifies an account without sending, even a send-only one', async () => {
    api.reply = (call) => ({
      status:
        call.method === 'GET' &&
        call.path === '/v2/email/account' &&
        call.headers.authorization?.endsWith(signatureOf(call))
          ? 200
          : 500,
    });
    expect(await carrier.verify(ACCOUNT, 400)).to.deep.equal({ ok: true });
    const refuse = (name: string): ApiResponse => ({
      status: 403,
      headers: { 'x-amzn-errortype': name },
      body: { message: `no ${SECRET}` },
    });
    api.reply = () => refuse('AccessDeniedException');
    expect(await carrier.verify(ACCOUNT, 400)).to.deep.equal({ ok: true });
    api.reply = () => refuse('UnrecognizedClientException');
    expect(await carrier.verify(ACCOUNT, 400)).to.deep.equal({
      ok: false,
      message: 'the carrier responded with 403: no [key]',
    });
  });
});
