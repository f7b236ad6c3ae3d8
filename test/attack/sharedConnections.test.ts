import { expect } from 'chai';
import type { SmtpAccount } from '../../src/email/carriers/smtp/account.js';
import type { LoadedEmail } from '../../src/email/carriers/carrier.js';
import { smtp } from '../../src/email/carriers/smtp/smtp.js';
import { openCarrier } from '../support/openCarrier.js';
import { LOGIN, startFakeSmtp, type FakeSmtp } from '../support/fakeSmtp.js';

const EMAIL: LoadedEmail = {
  tenantid: 7,
  deliveryid: '42',
  sender: { email: 'shop@example.com', name: '' },
  recipients: [{ email: 'ada@example.com', name: '' }],
  cc: [],
  bcc: [],
  subject: 'hello',
  html: '<p>hello</p>',
  messageId: '<delivery.7.42@rowpost.example>',
  loaded: [],
};

describe("attack: a tenant sends over the connection that another tenant's account has opened", () => {
  let server: FakeSmtp;
  const carrier = openCarrier(smtp);
  before(async () => {
    server = await startFakeSmtp({ disabledCommands: ['STARTTLS'], allowInsecureAuth: true });
  });
  after(async () => {
    carrier.close();
    await server.stop();
  });

  const send = (rest: Partial<SmtpAccount>): Promise<{ readonly kind: string }> => {
    const account: SmtpAccount = {
      kind: 'smtp',
      host: '127.0.0.1',
      port: server.port,
      security: 'none',
      verifyCertificate: true,
      maxConnections: 1,
      ...rest,
    };
    return carrier.send(EMAIL, { account, deadlineMs: 5_000, mayStart: () => true });
  };

  it('and is refused, or unknown to the server, by its own login', async () => {
    expect((await send(LOGIN)).kind).to.equal('sent');
    expect((await send({ ...LOGIN, password: 'guessed' })).kind).to.equal('tenant_paused');
    expect((await send({})).kind).to.equal('sent');
    expect(server.emails.map(({ user, connection }) => [user, connection])).to.deep.equal([
      [LOGIN.username, 1],
      [undefined, 3],
    ]);
  });
});
