import { expect } from 'chai';
import type { SmtpAccount } from '../../src/email/carriers/smtp/account.js';
import type { LoadedEmail } from '../../src/email/carriers/carrier.js';
import { smtp } from '../../src/email/carriers/smtp/smtp.js';
import { openCarrier } from '../support/openCarrier.js';
import type { SendOutcome } from '../../src/email/carriers/sending.js';
import { LOGIN, startFakeSmtp, type FakeSmtp } from '../support/fakeSmtp.js';

const EMAIL: LoadedEmail = {
  tenantid: 7,
  deliveryid: '42',
  sender: { email: 'shop@example.com', name: '' },
  recipients: [
    { email: 'ada@example.com', name: '' },
    { email: 'gone@example.com', name: '' },
  ],
  cc: [],
  bcc: [],
  subject: 'hello',
  html: '<p>hello</p>',
  messageId: '<delivery.7.42@rowpost.example>',
  loaded: [],
};

/** Outcomes of several tenants are recorded in one statement, as JSON, which PostgreSQL rejects for half a character. */
describe("attack: a server's reply that is cut within a character", () => {
  let server: FakeSmtp;
  const carrier = openCarrier(smtp);
  beforeEach(async () => {
    server = await startFakeSmtp({ disabledCommands: ['STARTTLS'], allowInsecureAuth: true });
  });
  afterEach(() => server.stop());
  after(() => carrier.close());

  const send = (): Promise<SendOutcome> => {
    const account: SmtpAccount = {
      kind: 'smtp',
      host: '127.0.0.1',
      port: server.port,
      security: 'none',
      verifyCertificate: true,
      maxConnections: 1,
      ...LOGIN,
    };
    return carrier.send(EMAIL, { account, deadlineMs: 5_000, mayStart: () => true });
  };
  const emojis = (offset: number): string => `${'x'.repeat(offset)}${'😀'.repeat(200)}`;

  for (const offset of [0, 1]) {
    it(`is storable wherever it is recorded: ${offset}`, async () => {
      server.afterDot = () => ({ taken: true, reply: `250 ${emojis(offset)}` });
      server.onRecipient = (address) =>
        address.startsWith('gone') ? { code: 550, text: `5.1.1 ${emojis(offset)}` } : undefined;
      const sent = JSON.stringify(await send());
      expect(sent).to.match(/"kind":"sent".*"isGone":true/);
      expect(sent).to.not.match(/\\ud[89a-f]/i);
      server.afterDot = () => ({ taken: false, reply: `554 ${emojis(offset)}` });
      const rejected = JSON.stringify(await send());
      expect(rejected).to.match(/"kind":"rejected"/);
      expect(rejected).to.not.match(/\\ud[89a-f]/i);
    });
  }

  it('does not show the beginning of the password', async () => {
    const { password } = LOGIN;
    server.afterDot = () => ({
      taken: true,
      reply: `250 ${'x'.repeat(200 - password.length + 1)}${password}`,
    });
    expect(JSON.stringify(await send()))
      .to.include('[key]')
      .and.not.include(password.slice(0, 6));
  });
});
