import { Readable } from 'node:stream';
import { expect } from 'chai';
import type { Account } from '../../../src/email/carriers/account.js';
import { createCarriers } from '../../../src/email/carriers/createCarriers.js';
import type { Carriers, EmailMessage } from '../../../src/email/carriers/sending.js';
import type { FileStorage } from '../../../src/files/storage/fileStorage.js';
import { CARRIERS } from '../../../src/email/carriers/allCarriers.js';
import { ACCOUNTS, carrierOptions } from '../../support/openCarrier.js';
import { startFakeApi, type FakeApi } from '../../support/fakeApi.js';
import { startFakeSmtp, type FakeSmtp } from '../../support/fakeSmtp.js';

const ADA = { email: 'ada@example.com', name: 'Ada' };
const EMAIL: EmailMessage = {
  tenantid: 7,
  deliveryid: '42',
  sender: { email: 'shop@example.com', name: '' },
  recipients: [ADA],
  cc: [],
  bcc: [],
  subject: 'Hello',
  html: '<p>Hello</p>',
  attachments: [{ filename: 'empty.txt', mimetype: 'text/plain', size: 0, objectkey: 'a' }],
};

describe('email: an attachment of 0 bytes', () => {
  let api: FakeApi;
  let server: FakeSmtp;
  let carriers: Carriers;
  let storage: FileStorage;

  before(async () => {
    api = await startFakeApi();
    server = await startFakeSmtp({ disabledCommands: ['STARTTLS'] });
    storage = {
      read: () => Promise.resolve(Readable.from([])),
      close: () => Promise.resolve(),
    } as Partial<FileStorage> as FileStorage;
    carriers = createCarriers({
      ...carrierOptions(api.url),
      storage,
    });
  });
  after(async () => {
    await carriers.close();
    await server.stop();
    await api.stop();
  });

  const smtp = (): Account => ({
    kind: 'smtp',
    host: '127.0.0.1',
    port: server.port,
    security: 'none',
    verifyCertificate: true,
    maxConnections: 1,
  });
  /** They refuse an email that has such a file. */
  const REFUSE = ['sendgrid', 'postmark', 'brevo'];
  for (const { kind, title } of CARRIERS) {
    const takes = !REFUSE.includes(kind);
    it(`${title}: ${takes ? 'is sent' : 'is refused before the call'}`, async () => {
      const calls = api.calls.length + server.emails.length;
      const context = { account: ACCOUNTS[kind] ?? smtp(), deadlineMs: 2_000, mayStart: () => true };
      const outcome = await carriers.send(EMAIL, context);
      expect(outcome).to.include(takes ? { kind: 'sent' } : { kind: 'rejected', code: 'ATTACHMENT_EMPTY' });
      expect(api.calls.length + server.emails.length - calls).to.equal(takes ? 1 : 0);
    });
  }

  it('arrives by SMTP as it is', () => {
    const [file] = server.emails.at(-1)!.parsed.attachments;
    expect([file?.filename, file?.size]).to.deep.equal(['empty.txt', 0]);
  });
});
