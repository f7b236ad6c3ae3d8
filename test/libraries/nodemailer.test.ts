import { Readable } from 'node:stream';
import { generateKeyPairSync } from 'node:crypto';
import DKIM from 'nodemailer/lib/dkim';
import MailComposer from 'nodemailer/lib/mail-composer';
import SMTPConnection from 'nodemailer/lib/smtp-connection';
import { startFakeSmtp, type FakeSmtp } from '../support/fakeSmtp.js';
import { contractOf } from './contract.js';

const must = contractOf('nodemailer');

interface Internals {
  _onData: (chunk: Buffer) => void;
  _sendCommand: (...command: unknown[]) => void;
  readonly _onError: (error: Error, code: string) => void;
  readonly _envelope?: { readonly rejectedErrors?: readonly { readonly responseCode?: number }[] };
}

describe('private parts of nodemailer', () => {
  let server: FakeSmtp;
  before(async () => {
    server = await startFakeSmtp();
  });
  after(() => server.stop());

  const connect = async (prepare: (internals: Internals) => void = () => undefined) => {
    const connection = new SMTPConnection({ host: '127.0.0.1', port: server.port, ignoreTLS: true });
    connection.on('error', () => undefined);
    const internals = connection as unknown as Internals;
    prepare(internals);
    await new Promise<void>((resolve, reject) => {
      connection.connect((error) => (error ? reject(error) : resolve()));
    });
    return { connection, internals };
  };

  it('`SMTPConnection`: `_onData`, `_sendCommand`, `_onError`', async () => {
    const calls: string[] = [];
    const { connection, internals } = await connect((own) => {
      const { _onData, _sendCommand, _onError } = own;
      for (const [name, method] of Object.entries({ _onData, _sendCommand, _onError }))
        must(typeof method === 'function', `SMTPConnection.${name} is no longer a method`);
      own._onData = (chunk) => {
        calls.push(`_onData ${Buffer.isBuffer(chunk)}`);
        _onData.call(own, chunk);
      };
      own._sendCommand = (...command) => {
        calls.push('_sendCommand');
        _sendCommand.apply(own, command);
      };
    });
    const expected = ['_onData true', '_sendCommand', '_onData true'];
    must(
      JSON.stringify(calls.slice(0, 3)) === JSON.stringify(expected),
      `SMTPConnection no longer calls its own _onData for each chunk and _sendCommand for each command: ${calls.join(', ')}`,
    );
    const failed = new Promise<Error>((resolve) => connection.once('error', resolve));
    internals._onError(new Error('from outside'), 'EPROTOCOL');
    must(connection.destroyed, 'SMTPConnection._onError no longer ends the connection');
    must(
      ((await failed) as NodeJS.ErrnoException).code === 'EPROTOCOL',
      'SMTPConnection._onError no longer emits the error with its code',
    );
  });

  it('`SMTPConnection`: `_envelope.rejectedErrors`, while the message is sent', async () => {
    server.onRecipient = (address) =>
      address.startsWith('later') ? { code: 450, text: 'later' } : undefined;
    const { connection, internals } = await connect();
    let seen: number | undefined;
    const body = Readable.from(
      (function* () {
        seen = internals._envelope?.rejectedErrors?.[0]?.responseCode;
        yield Buffer.from('Subject: one\r\n\r\ntext');
      })(),
    );
    await new Promise<void>((resolve, reject) => {
      connection.send(
        { from: 'me@example.com', to: ['now@example.com', 'later@example.com'] },
        body,
        (error) => (error ? reject(error) : resolve()),
      );
    });
    connection.close();
    must(seen === 450, 'SMTPConnection._envelope.rejectedErrors no longer holds the refused recipients');
  });

  it('`nodemailer/lib/dkim`, `nodemailer/lib/mail-composer`', async () => {
    const message = await new MailComposer({ from: 'me@example.com', to: 'you@example.com', text: 'text' })
      .compile()
      .build();
    must(Buffer.isBuffer(message), 'MailComposer.compile().build() no longer resolves to bytes');
    const { privateKey } = generateKeyPairSync('rsa', {
      modulusLength: 2048,
      privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
      publicKeyEncoding: { type: 'spki', format: 'pem' },
    });
    const key = { domainName: 'example.com', keySelector: 'key', privateKey };
    const parts: Buffer[] = [];
    for await (const part of new DKIM({ ...key, headerFieldNames: 'From:To' }).sign(message))
      parts.push(part as Buffer);
    must(
      /^DKIM-Signature:[^]*h=from:to;/i.test(Buffer.concat(parts).toString()),
      'DKIM.sign no longer signs the headers of headerFieldNames',
    );
  });

  it('`encodeHeaderValue` of a composed message, replaced', async () => {
    const root = new MailComposer({
      from: { address: 'me@example.com', name: 'Me' },
      to: [{ address: 'you@example.com', name: '' }],
      subject: 's',
      headers: { 'X-A': 'a' },
      text: 'text',
    }).compile();
    const given = new Map<string, unknown>();
    root.encodeHeaderValue = (key, value) => {
      given.set(key, value);
      return `ours-${key}`;
    };
    const message = (await root.build()).toString();
    const expected = {
      From: { address: 'me@example.com', name: 'Me' },
      To: [{ address: 'you@example.com', name: '' }],
      Subject: 's',
      'X-A': 'a',
    };
    for (const [key, value] of Object.entries(expected)) {
      must(
        JSON.stringify(given.get(key)) === JSON.stringify(value),
        `encodeHeaderValue no longer gets the value of ${key} as it was given`,
      );
      must(
        message.includes(`${key}: ours-${key}`),
        `the value of ${key} is no longer that of encodeHeaderValue`,
      );
    }
  });
});
