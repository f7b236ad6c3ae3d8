import { expect } from 'chai';
import type { Account } from '../../../src/email/carriers/account.js';
import { openCarriers } from '../../../src/email/carriers/openCarriers.js';
import type { EmailMessage } from '../../../src/email/carriers/sending.js';
import { CARRIERS } from '../../../src/email/carriers/allCarriers.js';
import { ACCOUNTS } from '../../support/openCarrier.js';
import { startFakeApi, type FakeApi } from '../../support/fakeApi.js';
import { testConfig } from '../../support/testConfig.js';

/** For settings that are not of all accounts of a carrier. */
const REGIONAL: Readonly<Record<string, Account>> = {
  MAILGUN_EU_BASE_URL: { kind: 'mailgun', apikey: 'key', domain: 'mg.example.com', region: 'eu' },
};
const SETTINGS = CARRIERS.flatMap(({ kind, baseUrls }) => baseUrls.map(({ env }) => ({ env, kind })));

const EMAIL: EmailMessage = {
  tenantid: 1,
  deliveryid: '1',
  sender: { email: 'shop@example.com', name: '' },
  recipients: [{ email: 'ada@example.com', name: '' }],
  cc: [],
  bcc: [],
  subject: 'Hello',
  html: '<p>Hello</p>',
  messageId: '<1@example.com>',
  idempotencyKey: '1',
};

describe('carriers: base URLs from settings', () => {
  let api: FakeApi;
  before(async () => {
    api = await startFakeApi();
  });
  after(() => api.stop());

  for (const { env: name, kind } of SETTINGS) {
    const account = REGIONAL[name] ?? ACCOUNTS[kind];
    it(name, async () => {
      const config = testConfig({
        MAIL_TRANSPORT: 'sendgrid',
        DATABASE_URL: 'postgres://nobody@127.0.0.1/none',
        [name]: `${api.url}${name}`,
      });
      const carriers = openCarriers(config, undefined as never);
      const before = api.calls.length;
      await carriers.send(EMAIL, { account, deadlineMs: 5_000, mayStart: () => true });
      await carriers.close();
      const paths = api.calls.slice(before).map(({ path }) => path);
      expect(paths).to.have.length(1);
      expect(paths[0]).to.match(new RegExp(`^/${name}/`));
    });
  }
});
