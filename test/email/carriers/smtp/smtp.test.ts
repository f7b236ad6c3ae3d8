import { generateKeyPairSync } from 'node:crypto';
import { createServer, type Server, type Socket } from 'node:net';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import { dkimVerify } from 'mailauth/lib/dkim/verify.js';
import { simpleParser } from 'mailparser';
import type { SmtpAccount } from '../../../../src/email/carriers/smtp/account.js';
import type { LoadedEmail } from '../../../../src/email/carriers/carrier.js';
import { smtp } from '../../../../src/email/carriers/smtp/smtp.js';
import { openCarrier } from '../../../support/openCarrier.js';
import { findFreePort } from '../../../../src/embedded/freePort.js';
import { LOGIN, startFakeSmtp, type AfterDot, type FakeSmtp } from '../../../support/fakeSmtp.js';

const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);
const EMAIL: LoadedEmail = {
  tenantid: 7,
  deliveryid: '42',
  sender: { email: 'shop@example.com', name: 'The "Grüne" Shop, Ltd' },
  recipients: [
    { email: 'ada@example.com', name: 'Ada Łovelace' },
    { email: 'bob@xn--exmple-cua.com', name: '' },
  ],
  cc: [{ email: 'cc@example.com', name: '' }],
  bcc: [{ email: 'log@example.com', name: 'Log' }],
  subject: 'Grüße: 日本語 und ein sehr langer Betreff, der über mehrere Zeilen gehen muss 🎉',
  html: `<p>Grüße 🎉</p>\r\n.\r\n<p>${'x'.repeat(2_000)}</p><img src="cid:logo@shop">`,
  text: 'Grüße 🎉\n.\n..\nend',
  replyTo: [{ email: 'help@example.com', name: 'Hélp' }],
  headers: { 'Auto-Submitted': 'auto-generated', 'X-Note': 'Ünï 日本' },
  messageId: '<delivery.7.42@rowpost.example>',
  loaded: [
    {
      filename: 'Rechnung – März.pdf',
      mimetype: 'application/pdf',
      size: 200_000,
      objectkey: 'a',
      base64: Buffer.alloc(200_000, 'pdf\n.\n').toString('base64'),
    },
    {
      filename: 'logo.png',
      mimetype: 'image/png',
      size: PNG.length,
      objectkey: 'b',
      contentId: 'logo@shop',
      base64: PNG.toString('base64'),
    },
  ],
};
/** More than all buffers on the way take in. */
const LARGE: LoadedEmail = {
  ...EMAIL,
  loaded: [{ ...EMAIL.loaded[0]!, base64: Buffer.alloc(15_000_000, 'large').toString('base64') }],
};
const SHORT: LoadedEmail = { ...EMAIL, recipients: [EMAIL.recipients[0]!], cc: [], bcc: [], loaded: [] };

describe('delivery: through SMTP', () => {
  let server: FakeSmtp;
  const carrier = openCarrier(smtp);
  const opened: { stop(): Promise<void> }[] = [];

  before(async () => {
    server = await startFakeSmtp({ disabledCommands: ['STARTTLS'], allowInsecureAuth: true });
  });
  after(async () => {
    carrier.close();
    await server.stop();
    for (const each of opened) await each.stop();
  });
  beforeEach(() => {
    server.afterDot = () => ({ taken: true, reply: '250 2.0.0 queued as Q' });
    server.onRecipient = () => undefined;
  });
  const accountAt = (port: number, rest: Partial<SmtpAccount> = {}): SmtpAccount => ({
    kind: 'smtp',
    host: '127.0.0.1',
    port,
    security: 'none',
    verifyCertificate: true,
    maxConnections: 5,
    ...rest,
  });
  const send = (email: LoadedEmail = SHORT, rest: Partial<SmtpAccount> = {}, deadlineMs = 2_000) =>
    carrier.send(email, { account: accountAt(server.port, rest), deadlineMs, mayStart: () => true });

  it('arrives with every field, header, part, file and character as sent', async () => {
    expect(await send(EMAIL)).to.deep.equal({
      kind: 'sent',
      httpStatus: 250,
      providerMessageId: '2.0.0 queued as Q',
    });
    const { from, to, parsed, raw } = server.emails.at(-1)!;
    expect(from).to.equal('shop@example.com');
    expect(to).to.deep.equal([
      'ada@example.com',
      'bob@xn--exmple-cua.com',
      'cc@example.com',
      'log@example.com',
    ]);
    expect(parsed.from?.value).to.deep.equal([
      { address: 'shop@example.com', name: 'The "Grüne" Shop, Ltd' },
    ]);
    expect([parsed.to].flat().flatMap((item) => item?.value)).to.deep.equal([
      { address: 'ada@example.com', name: 'Ada Łovelace' },
      // As people write it; on the wire it is ASCII.
      { address: 'bob@exämple.com', name: '' },
    ]);
    expect(raw.toString()).to.match(/^To: .*bob@xn--exmple-cua\.com/ms);
    expect([parsed.cc].flat()[0]?.value).to.deep.equal([{ address: 'cc@example.com', name: '' }]);
    expect(parsed.bcc).to.equal(undefined);
    expect(raw.toString()).to.not.match(/log@example|^bcc:/im);
    expect(parsed.replyTo?.value).to.deep.equal([{ address: 'help@example.com', name: 'Hélp' }]);
    expect(parsed.subject).to.equal(EMAIL.subject);
    expect(parsed.messageId).to.equal(EMAIL.messageId);
    expect(parsed.date).to.be.instanceOf(Date);
    expect(parsed.headers.get('auto-submitted')).to.equal('auto-generated');
    const line = parsed.headerLines.find(({ key }) => key === 'x-note')?.line ?? '';
    const note = /=\?UTF-8\?B\?(.*)\?=$/.exec(line)?.[1] ?? '';
    expect(Buffer.from(note, 'base64').toString()).to.equal('Ünï 日本');
    expect(parsed.text).to.equal(EMAIL.text);
    const inline = `data:image/png;base64,${PNG.toString('base64')}`;
    expect(String(parsed.html).replaceAll('\r\n', '\n')).to.equal(
      EMAIL.html.replaceAll('\r\n', '\n').replace('cid:logo@shop', inline),
    );
    const files = parsed.attachments.map(({ filename, contentType, contentDisposition, cid, content }) => ({
      filename,
      contentType,
      contentDisposition,
      cid,
      base64: content.toString('base64'),
    }));
    expect(files).to.have.deep.members([
      {
        filename: 'Rechnung – März.pdf',
        contentType: 'application/pdf',
        contentDisposition: 'attachment',
        cid: undefined,
        base64: EMAIL.loaded[0]!.base64,
      },
      {
        filename: 'logo.png',
        contentType: 'image/png',
        contentDisposition: 'inline',
        cid: 'logo@shop',
        base64: EMAIL.loaded[1]!.base64,
      },
    ]);
    // ASCII in lines that any server takes.
    expect(raw.toString('latin1')).to.match(/^[\r\n\t -~]*$/);
    expect(
      Math.max(
        ...raw
          .toString('latin1')
          .split('\r\n')
          .map((line) => line.length),
      ),
    ).to.be.at.most(998);
  });

  for (const subject of [
    `Order ${'x'.repeat(1_500)} of ${'y'.repeat(1_000)}!`,
    `${'é'.repeat(700)} ${'x'.repeat(1_500)}`,
  ]) {
    it(`keeps the lines of a subject within 998 characters: ${subject.slice(0, 10)}…`, async () => {
      expect(await send({ ...SHORT, subject })).to.include({ kind: 'sent' });
      const { parsed, raw } = server.emails.at(-1)!;
      expect(parsed.subject).to.equal(subject);
      for (const line of raw.toString('latin1').split('\r\n')) expect(line.length).to.be.lessThan(999);
    });
  }

  it('accepts non-ASCII addresses if the server does', async () => {
    const jörg = { email: 'jörg@xn--exmple-cua.com', name: '' };
    expect(await send({ ...SHORT, recipients: [jörg] })).to.include({ kind: 'sent' });
    expect(server.emails.at(-1)!.to[0]).to.match(/^jörg@/);
  });

  it('signs with DKIM, which an independent library verifies only on the unmodified email', async () => {
    const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    const dkim = {
      domain: 'example.com',
      selector: 'mail',
      privateKey: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    };
    await send(EMAIL, { dkim });
    const p = publicKey.export({ type: 'spki', format: 'der' }).toString('base64');
    const resolver = (name: string, type: string) =>
      name === 'mail._domainkey.example.com' && type === 'TXT'
        ? Promise.resolve([[`v=DKIM1; k=rsa; p=${p}`]])
        : Promise.reject(new Error('not found'));
    const verify = async (raw: Buffer) => (await dkimVerify(raw, { resolver })).results[0]?.status.result;
    const { raw } = server.emails.at(-1)!;
    expect(await verify(raw)).to.equal('pass');
    expect(
      await verify(Buffer.from(raw.toString('latin1').replace('delivery.7.42', 'delivery.7.43'), 'latin1')),
    ).to.equal('fail');
    expect(await verify(Buffer.concat([raw, Buffer.from('more\r\n')]))).to.not.equal('pass');

    const url = `<https://shop.example.com/unsubscribe/${'A'.repeat(300)}>`;
    const unsubscribe = { 'List-Unsubscribe': url, 'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click' };
    await send({ ...EMAIL, headers: unsubscribe }, { dkim });
    const letter = server.emails.at(-1)!.raw;
    expect(await verify(letter)).to.equal('pass');
    const signedNames = /\bh=([^;]*);/
      .exec(letter.toString('latin1').replace(/\r\n\s+/g, ''))?.[1]
      ?.split(':');
    expect(signedNames).to.include.members(['list-unsubscribe', 'list-unsubscribe-post']);
    const { headers } = await simpleParser(letter);
    expect(headers.get('list')).to.deep.equal({
      unsubscribe: { url: url.slice(1, -1) },
      'unsubscribe-post': { name: 'List-Unsubscribe=One-Click' },
    });
  });

  it('reuses connections, and opens no more than the account allows', async () => {
    const before = server.connections();
    const took = server.emails.length;
    await Promise.all(Array.from({ length: 20 }, () => send(SHORT, { maxConnections: 3 }, 5_000)));
    expect(server.emails.length - took).to.equal(20);
    expect(server.connections() - before).to.be.within(1, 3);
    await send(SHORT, { maxConnections: 3 });
    expect(server.connections() - before).to.be.at.most(3);
  });

  describe('the meaning of replies', () => {
    const afterDot = async (behavior: AfterDot, deadlineMs?: number) => {
      server.afterDot = () => behavior;
      return send(SHORT, {}, deadlineMs);
    };
    it('after the final dot: a reply is certain, a lost one ambiguous', async () => {
      for (const [behavior, outcome] of [
        [
          { taken: true, reply: '250 ok' },
          { kind: 'sent', httpStatus: 250 },
        ],
        [
          { taken: false, reply: '451 4.3.0 later' },
          { kind: 'retry', ambiguous: false, code: 'SMTP_451' },
        ],
        [
          { taken: false, reply: '421 4.3.2 closing' },
          { kind: 'retry', ambiguous: false, code: 'SMTP_421' },
        ],
        [
          { taken: false, reply: '554 5.7.1 spam' },
          { kind: 'rejected', httpStatus: 554, code: 'SMTP_554' },
        ],
        [
          { taken: false, reply: '552 5.3.4 too big' },
          { kind: 'rejected', code: 'EMAIL_TOO_LARGE' },
        ],
        [
          { taken: true, reply: 'cut' },
          { kind: 'retry', ambiguous: true },
        ],
        [
          { taken: false, reply: 'cut' },
          { kind: 'retry', ambiguous: true },
        ],
        [
          { taken: true, reply: 'hang' },
          { kind: 'retry', ambiguous: true, code: 'CARRIER_TIMEOUT' },
        ],
      ] as const) {
        expect(await afterDot(behavior, 400), JSON.stringify(behavior)).to.include(outcome);
      }
    });

    it('to a recipient: a permanent error is a bounce, a temporary one defers the email for all', async () => {
      const gone = { code: 550, text: '5.1.1 no such user' };
      server.onRecipient = (address) => (address === 'cc@example.com' ? gone : undefined);
      expect(await send({ ...EMAIL, loaded: [] })).to.deep.include({
        kind: 'sent',
        refused: [
          {
            address: 'cc@example.com',
            reason: 'the server responded: 550 5.1.1 no such user',
            status: '5.1.1',
            isGone: true,
          },
        ],
      });
      expect(server.emails.at(-1)!.to).to.not.include('cc@example.com');

      const before = server.emails.length;
      const later = { code: 451, text: '4.7.1 greylisted' };
      server.onRecipient = (address) => (address === 'cc@example.com' ? later : undefined);
      expect(await send({ ...EMAIL, loaded: [] })).to.include({
        kind: 'retry',
        ambiguous: false,
        code: 'SMTP_451',
      });
      expect(server.emails).to.have.length(before);

      server.onRecipient = () => ({ code: 554, text: '5.7.1 relay denied' });
      const refused = await send();
      expect(refused).to.include({ kind: 'rejected', httpStatus: 554, code: 'RECIPIENT_REFUSED' });
      expect(refused).to.have.nested.include({ 'refused[0].isGone': false });
      server.onRecipient = () => ({ code: 450, text: '4.2.1 busy' });
      expect(await send()).to.include({ kind: 'retry', ambiguous: false });
      server.onRecipient = () => undefined;
      expect(await send(), 'the next email').to.include({ kind: 'sent' });
    });

    it('to a login: the tenant is paused, and the password is not reported', async () => {
      expect(await send(SHORT, LOGIN)).to.include({ kind: 'sent' });
      expect(server.emails.at(-1)!.user).to.equal('shop');
      const refused = await send(SHORT, { ...LOGIN, password: 'canary-wrong' });
      expect(refused).to.include({ kind: 'tenant_paused', httpStatus: 535, code: 'SMTP_LOGIN_REFUSED' });
      expect(JSON.stringify(refused)).to.not.include('canary');
    });

    it('to a message that is too large', async () => {
      const small = await startFakeSmtp({ disabledCommands: ['STARTTLS'], size: 1_000 });
      opened.push(small);
      expect(
        await carrier.send(SHORT, {
          account: accountAt(small.port),
          deadlineMs: 2_000,
          mayStart: () => true,
        }),
      ).to.include({ kind: 'rejected', code: 'EMAIL_TOO_LARGE' });
    });
  });

  it('a connection that was never established, or broke before the final dot, did not take the email', async () => {
    const port = await findFreePort();
    const context = { deadlineMs: 5_000, mayStart: () => true };
    expect(await carrier.send(SHORT, { ...context, account: accountAt(port) })).to.include({
      kind: 'retry',
      ambiguous: false,
      code: 'ECONNREFUSED',
    });
    for (const at of ['greeting', 'MAIL', 'RCPT', 'DATA', 'body'] as const) {
      const cutting = await startCuttingServer(at);
      opened.push(cutting);
      const outcome = await carrier.send(LARGE, { ...context, account: accountAt(cutting.port) });
      expect(outcome, at).to.include({ kind: 'retry', ambiguous: false });
    }
  });

  it('checks the lease just before the final dot', async () => {
    const before = server.emails.length;
    const account = accountAt(server.port);
    let asked = 0;
    const mayStart = (): boolean => ++asked > 1;
    expect(await carrier.send(EMAIL, { account, deadlineMs: 2_000, mayStart })).to.deep.equal({
      kind: 'fenced',
    });
    expect(asked).to.equal(1);
    expect(server.emails).to.have.length(before);
    expect(await send()).to.include({ kind: 'sent' });
  });

  it('a connection the server closed while idle costs no attempt', async () => {
    const idle = await startFakeSmtp({ disabledCommands: ['STARTTLS'], socketTimeout: 500 });
    opened.push(idle);
    const context = { account: accountAt(idle.port), deadlineMs: 2_000, mayStart: () => true };
    expect(await carrier.send(SHORT, context)).to.include({ kind: 'sent' });
    await waitUntilClosed(idle);
    expect(await carrier.send(SHORT, context)).to.include({ kind: 'sent' });
    expect(idle.emails).to.have.length(2);
  });

  describe('encryption', () => {
    it('is required, by STARTTLS or from the first byte, with certificate verification', async () => {
      const starttls = await startFakeSmtp();
      const implicit = await startFakeSmtp({ secure: true });
      opened.push(starttls, implicit);
      const sendTo = (port: number, rest: Partial<SmtpAccount>) =>
        carrier.send(SHORT, { account: accountAt(port, rest), deadlineMs: 2_000, mayStart: () => true });
      for (const [port, security] of [
        [starttls.port, 'starttls'],
        [implicit.port, 'tls'],
      ] as const) {
        // The server's certificate is its own word.
        expect(await sendTo(port, { security }), security).to.include({
          kind: 'retry',
          ambiguous: false,
          code: 'SMTP_TLS_FAILED',
        });
        expect(await sendTo(port, { security, verifyCertificate: false }), security).to.include({
          kind: 'sent',
        });
      }
      expect(starttls.emails.at(-1)!.secure).to.equal(true);
      expect(implicit.emails.at(-1)!.secure).to.equal(true);
      // A server without STARTTLS, or one in the middle that takes the word out of its response, gets neither email nor login.
      const before = server.emails.length;
      expect(await send(SHORT, { security: 'starttls', ...LOGIN })).to.include({
        kind: 'tenant_paused',
        code: 'SMTP_CONNECTION_REFUSED',
      });
      expect(server.emails).to.have.length(before);
    });
  });

  it('verifies an account without sending', async () => {
    const verify = (rest: Partial<SmtpAccount>) => carrier.verify(accountAt(server.port, rest), 1_000);
    const before = server.emails.length;
    expect(await verify(LOGIN)).to.deep.equal({ ok: true });
    const wrong = await verify({ ...LOGIN, password: 'canary-wrong' });
    expect(wrong.ok).to.equal(false);
    expect(JSON.stringify(wrong)).to.include('535').and.not.include('canary');
    expect(await verify({ port: await findFreePort() })).to.deep.equal({
      ok: false,
      message: 'the connection broke (ECONNREFUSED)',
    });
    expect(server.emails).to.have.length(before);
  });
});

/** Speaks until it is asked for something, and breaks the connection instead of answering. */
async function startCuttingServer(
  at: 'greeting' | 'MAIL' | 'RCPT' | 'DATA' | 'body',
): Promise<{ port: number; stop(): Promise<void> }> {
  const sockets = new Set<Socket>();
  const server: Server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    if (at === 'greeting') return void socket.resetAndDestroy();
    socket.write('220 fake\r\n');
    socket.on('data', (chunk) => {
      const command = chunk.toString('latin1').slice(0, 4);
      if (command === at || (at === 'body' && !/^(EHLO|MAIL|RCPT|DATA)/.test(command)))
        socket.resetAndDestroy();
      else socket.write(command === 'DATA' ? '354 go on\r\n' : '250 ok\r\n');
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    async stop() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

async function waitUntilClosed(server: FakeSmtp): Promise<void> {
  while (server.open() > 0) await new Promise((resolve) => setTimeout(resolve, 10));
}
