import { once } from 'node:events';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { expect } from 'chai';
import type { SmtpAccount } from '../../src/email/carriers/smtp/account.js';
import type { LoadedEmail } from '../../src/email/carriers/carrier.js';
import { smtp } from '../../src/email/carriers/smtp/smtp.js';
import { carrierOptions, openCarrier } from '../support/openCarrier.js';
import { parseAccounts } from '../../src/control/email/accountInput.js';
import { cpuTimer } from '../support/cpuTime.js';

const EMAIL: LoadedEmail = {
  tenantid: 7,
  deliveryid: '42',
  sender: { email: 'shop@example.com', name: '' },
  recipients: [{ email: 'ada@example.com', name: '' }],
  cc: [],
  bcc: [],
  subject: 'Hello',
  html: 'hello',
  loaded: [],
};

describe('attack: an SMTP server chosen by a tenant', () => {
  let server: Server;
  let connections = 0;
  const sockets = new Set<Socket>();
  /** What the server does with a connection. */
  let serve: (socket: Socket) => void;
  const walled = smtp.open({ ...carrierOptions(''), smtpAllowPrivateNetwork: false });
  const open = openCarrier(smtp);

  before(async () => {
    server = createServer((socket) => {
      connections += 1;
      sockets.add(socket);
      socket.on('error', () => undefined);
      serve(socket);
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  });
  after(async () => {
    walled.close();
    open.close();
    for (const socket of sockets) socket.destroy();
    server.close();
    await once(server, 'close');
  });
  const account = (host: string, login = {}): SmtpAccount => ({
    kind: 'smtp',
    host,
    port: (server.address() as AddressInfo).port,
    security: 'none',
    verifyCertificate: true,
    maxConnections: 2,
    ...login,
  });
  const send = (carrier: typeof open, host = '127.0.0.1', deadlineMs = 500, login = {}) =>
    carrier.send(EMAIL, { account: account(host, login), deadlineMs, mayStart: () => true });

  it('is never the local machine or network, whatever its name resolves to', async () => {
    for (const host of [
      '127.0.0.1',
      '::1',
      '::ffff:127.0.0.1',
      '169.254.169.254',
      '10.0.0.1',
      '0.0.0.0',
      'localhost',
    ]) {
      expect(await send(walled, host), host).to.include({ kind: 'tenant_paused', code: 'SMTP_HOST_REFUSED' });
      const verdict = await walled.verify(account(host), 500);
      expect(verdict, host).to.deep.equal({
        ok: false,
        message: "the server's name leads into a private network",
      });
    }
    expect(connections).to.equal(0);
  });

  it('is refused at once for obvious local names and for ports of other services', () => {
    const read = (given: object) => () =>
      parseAccounts({ kind: 'smtp', host: 'mail.example.com', ...given }, false);
    for (const host of ['127.0.0.1', '::1', 'localhost', 'redis', '192.168.0.1', '[::1]', '2130706433']) {
      expect(read({ host }), host).to.throw(/host/);
    }
    for (const port of [0, -1, 22, 80, 5432, 6379, 65_536])
      expect(read({ port }), String(port)).to.throw(/port/);
    expect(read({ security: 'none' })).to.throw(/security/);
    for (const port of [25, 465, 587, 2525]) expect(read({ port })).to.not.throw();
  });

  it("can't exceed the attempt timeout, however slow it is", async () => {
    const drips = ['220 ', '220-a\r\n', ''];
    for (const drip of drips) {
      serve = (socket) => {
        const timer = setInterval(() => socket.write(drip), 20);
        socket.on('close', () => clearInterval(timer));
      };
      const startedAt = performance.now();
      const outcome = await send(open);
      expect(outcome, JSON.stringify(drip)).to.include({ kind: 'retry', ambiguous: false });
      expect(performance.now() - startedAt, JSON.stringify(drip)).to.be.below(30_000);
    }
  });

  it("can't exhaust memory with an endless reply", async () => {
    let written = 0;
    serve = (socket) => {
      const chunk = Buffer.alloc(65_536, '2');
      const more = (): void => {
        while (!socket.destroyed && socket.write(chunk)) written += chunk.length;
        written += chunk.length;
      };
      socket.on('drain', more);
      more();
    };
    expect(await send(open, '127.0.0.1', 2_000)).to.include({ kind: 'retry', ambiguous: false });
    expect(written).to.be.below(20_000_000);
  });

  it("can't hold a process up with a long challenge or with empty lines", async () => {
    const login = { username: 'shop', password: 'secret-password' };
    const challenge = `334${' '.repeat(60_000)}\rx\r\r\n`;
    const replies: Readonly<Record<string, string>> = { EHLO: '250 AUTH CRAM-MD5\r\n', AUTH: challenge };
    const attacks: (typeof serve)[] = [
      (socket) => {
        socket.write('220 fake\r\n');
        socket.on('data', (sent: Buffer) => socket.write(replies[sent.toString().slice(0, 4)] ?? ''));
      },
      (socket) => {
        const timer = setInterval(() => socket.write('\n'.repeat(1_000)), 1);
        socket.on('close', () => clearInterval(timer));
      },
    ];
    for (const attack of attacks) {
      serve = attack;
      const cpuMs = cpuTimer();
      const outcome = await send(open, '127.0.0.1', 30_000, login);
      expect(outcome).to.include({ kind: 'retry', ambiguous: false, code: 'EPROTOCOL' });
      expect(cpuMs()).to.be.below(1_000);
    }
  });

  it("can't have the password shown by quoting it, also encoded, cut off, or as an id", async () => {
    const password = 'canary-password';
    const login = { username: 'shop', password };
    const encoded = [`\0shop\0${password}`, password].map((text) => Buffer.from(text).toString('base64'));
    const commands = (replies: Readonly<Record<string, string>>) => (socket: Socket) => {
      socket.write('220 fake\r\n');
      socket.on('data', (sent: Buffer) => {
        const words = sent.toString();
        const known = Object.keys(replies).find((command) => words.startsWith(command));
        if (known !== undefined) socket.write(`${replies[known]}\r\n`);
        else if (words.endsWith('\r\n.\r\n')) socket.write(`250 ok ${password}\r\n`);
      });
    };
    const hello = { EHLO: '250-fake\r\n250 AUTH PLAIN', AUTH: '235 ok', MAIL: '250 ok', DATA: '354 go on' };
    const outcomes: unknown[] = [];
    for (const AUTH of [
      `500 unknown command: AUTH PLAIN ${encoded[0]}`,
      `500 unknown command: AUTH LOGIN ${encoded[1]}`,
      `535 ${'x'.repeat(296 - 6)}${password}`,
    ]) {
      serve = commands({ ...hello, AUTH });
      outcomes.push(await send(open, '127.0.0.1', 30_000, login));
    }
    expect(outcomes.map((each) => (each as { code: string }).code)).to.deep.equal(
      Array(3).fill('SMTP_LOGIN_REFUSED'),
    );
    serve = commands({ ...hello, RCPT: `550 5.1.1 not with ${password}` });
    outcomes.push(await send(open, '127.0.0.1', 30_000, login));
    serve = commands({ ...hello, RCPT: '250 ok' });
    const sent = await send(open, '127.0.0.1', 30_000, login);
    expect(sent).to.include({ kind: 'sent', providerMessageId: 'ok [key]' });
    outcomes.push(sent);
    for (const secret of ['canary', ...encoded]) expect(JSON.stringify(outcomes)).to.not.include(secret);
    expect(JSON.stringify(outcomes)).to.not.match(/xcan|xcana/);
  });

  it('gains nothing by acknowledging an email before receiving it', async () => {
    serve = (socket) => {
      socket.write('220 fake\r\n250 ok\r\n250 ok\r\n250 ok\r\n354 go on\r\n250 taken\r\n');
    };
    const outcome = await send(open);
    expect(['sent', 'retry', 'tenant_paused']).to.include(outcome.kind);
  });
});
