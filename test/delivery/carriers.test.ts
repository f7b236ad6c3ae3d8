import { expect } from 'chai';
import { storeAccounts } from '../../src/db/email/emailAccounts.js';
import { resumeTenant } from '../../src/db/ledger/pause.js';
import type { SmtpAccount } from '../../src/email/carriers/smtp/account.js';
import type { Account } from '../../src/email/carriers/account.js';
import { findFreePort } from '../../src/embedded/freePort.js';
import { deliveryOutcomes, carrierCalls } from '../../src/foundation/observability/metrics.js';
import { startFakeProvider, type Behavior, type FakeProvider } from '../support/fakeProvider.js';
import { LOGIN, startFakeSmtp, type AfterDot, type FakeSmtp } from '../support/fakeSmtp.js';
import { createTestDatabase, type TestDatabase } from '../support/testDatabase.js';
import { waitFor } from '../support/waitFor.js';
import {
  createRule,
  createTenant,
  keyRing,
  pipelineConfig,
  plainRenderer,
  startPipeline,
  writeEvents,
  type Pipeline,
  type RuleOptions,
  type TestTenant,
} from './pipelineSetup.js';
import { knexOf } from '../support/knexOf.js';
import { inTransaction } from '../../src/db/pool/inTransaction.js';

describe('delivery: by carriers of the tenant’s choice', () => {
  let db: TestDatabase;
  let provider: FakeProvider;
  let server: FakeSmtp;
  let pipeline: Pipeline;
  let tenant: TestTenant;
  let nextAfterDot: AfterDot[] = [];
  let nextResponses: Behavior[] = [];

  before(async () => {
    db = await createTestDatabase();
    provider = await startFakeProvider();
    server = await startFakeSmtp({ disabledCommands: ['STARTTLS'], allowInsecureAuth: true });
    const config = await pipelineConfig('postgres', {
      SENDGRID_BASE_URL: provider.url,
      MAX_ATTEMPTS: '5',
      LEASE_MS: '6000',
      SEND_DEADLINE_MS: '2500', // on a busy machine the first email by SMTP takes more than the usual 800
    });
    pipeline = await startPipeline(db.database, config, { templates: plainRenderer });
  });
  after(async () => {
    await pipeline.stop();
    await server.stop();
    await provider.stop();
    await db.drop();
  });
  beforeEach(async () => {
    tenant = await createTenant(db.database);
    nextAfterDot = [];
    nextResponses = [];
    server.onRecipient = () => undefined;
    server.afterDot = () => nextAfterDot.shift() ?? { taken: true, reply: '250 2.0.0 queued as Q' };
    provider.behave = () => nextResponses.shift() ?? { kind: 'accept' };
  });

  const smtp = (rest: Partial<SmtpAccount> = {}): SmtpAccount => ({
    kind: 'smtp',
    host: '127.0.0.1',
    port: server.port,
    security: 'none',
    verifyCertificate: true,
    maxConnections: 5,
    ...LOGIN,
    ...rest,
  });
  const setAccount = (...transports: readonly Account[]) =>
    inTransaction(db.database.pool, (tx) =>
      storeAccounts(tx, keyRing, {
        tenantid: tenant.tenantid,
        transports: JSON.stringify(transports),
        setBy: tenant.roleid,
        emailsPerSecond: 0,
      }),
    );
  const rows = async (table: string): Promise<Record<string, unknown>[]> =>
    (await knexOf(db.database)(table).where({ tenantid: tenant.tenantid }).orderBy('createtime')) as never;
  /** One event, and the delivery it ended as. */
  const deliver = async (rule: RuleOptions = {}) => {
    await createRule(db.database, tenant, rule);
    await writeEvents(db.database, tenant, 1);
    return ended();
  };
  const ended = () =>
    waitFor('the end of the delivery', async () => {
      const all = await rows('rowpost.email_delivery');
      return all.find(({ state }) => !['pending', 'sending', 'retrying'].includes(String(state)));
    });
  const attempts = async () =>
    (await rows('rowpost.email_attempt'))
      .sort((a, b) => Number(a['attempt']) - Number(b['attempt']))
      .map(({ carrier, outcome }) => `${String(carrier)} ${String(outcome)}`);
  const mine = () => {
    const id = new RegExp(`^<delivery\\.${tenant.tenantid}\\.`);
    return {
      smtp: server.emails.filter(({ parsed }) => id.test(parsed.messageId ?? '')),
      sendgrid: provider.calls.filter(({ tenantid }) => tenantid === String(tenant.tenantid)),
    };
  };

  it('goes by SMTP, with the carrier in ledger and metrics', async () => {
    await setAccount(smtp());
    expect(await deliver()).to.include({ state: 'sent', provider_message_id: '2.0.0 queued as Q' });
    expect(await attempts()).to.deep.equal(['smtp sent']);
    expect(mine().smtp).to.have.length(1);
    expect(mine().sendgrid).to.have.length(0);
    const counted = [...(await deliveryOutcomes.get()).values, ...(await carrierCalls.get()).values];
    expect(counted.map(({ labels }) => labels.carrier))
      .to.include('smtp')
      .and.not.include(undefined);
  });

  it('a lost response after the final dot is a possible duplicate, recorded; at most once sends no second one', async () => {
    await setAccount(smtp());
    nextAfterDot = [
      { taken: true, reply: 'cut' },
      { taken: true, reply: 'hang' },
    ];
    expect(await deliver()).to.include({ state: 'sent', attempts: 3 });
    expect(await attempts()).to.deep.equal(['smtp ambiguous', 'smtp ambiguous', 'smtp sent']);
    expect(mine().smtp).to.have.length(3);
    expect(new Set(mine().smtp.map(({ parsed }) => parsed.messageId))).to.have.property('size', 1);

    tenant = await createTenant(db.database);
    await setAccount(smtp());
    nextAfterDot = [{ taken: true, reply: 'cut' }];
    expect(await deliver({ delivery: 'at_most_once' })).to.include({ state: 'unknown' });
    expect(mine().smtp).to.have.length(1);
  });

  it('a refused login pauses the tenant, and a new account resumes it', async () => {
    await setAccount(smtp({ password: 'canary-wrong' }));
    const paused = await deliver();
    expect(paused).to.include({ state: 'paused', attempts: 0, error_code: 'SMTP_LOGIN_REFUSED' });
    expect(JSON.stringify(await rows('rowpost.email_attempt'))).to.not.include('canary');
    await setAccount(smtp());
    await inTransaction(db.database.pool, (tx) => resumeTenant(tx, tenant.tenantid, 0));
    await waitFor('the email', () => Promise.resolve(mine().smtp.length === 1));
  });

  it('a mailbox that is gone becomes a bounce and gets nothing more, like one that the carrier reports', async () => {
    await setAccount(smtp());
    server.onRecipient = (address) =>
      address === 'gone@example.com' ? { code: 550, text: '5.1.1 no such user' } : undefined;
    await deliver({ recipients: ['ada@example.com', 'gone@example.com'] });
    const [event] = await waitFor('the event', async () => {
      const found = await rows('rowpost.email_event');
      return found.length > 0 ? found : undefined;
    });
    expect(event).to.include({
      event: 'bounce',
      type: 'bounce',
      status: '5.1.1',
      recipient: 'gone@example.com',
    });
    const [suppressed] = await rows('rowpost.email_suppression');
    expect(suppressed).to.include({ address: 'gone@example.com', source: 'bounce' });
    await writeEvents(db.database, tenant, 1);
    await waitFor('the second email', () => Promise.resolve(mine().smtp.length === 2));
    expect(mine().smtp[1]!.to).to.deep.equal(['ada@example.com']);
  });

  it('a mailbox that is full is refused for this email only, on record', async () => {
    await setAccount(smtp());
    server.onRecipient = () => ({ code: 552, text: '5.2.2 mailbox full' });
    const delivery = await deliver({ recipients: ['ada@example.com'] });
    expect(delivery).to.include({ state: 'failed', error_code: 'RECIPIENT_REFUSED' });
    const [event] = await waitFor('the event', async () => {
      const found = await rows('rowpost.email_event');
      return found.length > 0 ? found : undefined;
    });
    const blocked = { event: 'bounce', type: 'blocked', status: '5.2.2', recipient: 'ada@example.com' };
    expect(event).to.include(blocked);
    expect(await rows('rowpost.email_suppression')).to.deep.equal([]);
  });

  it('a server that takes few recipients at once gets the email for all of them', async () => {
    await setAccount(smtp());
    const before = server.emails.length;
    let accepted = 0;
    server.onRecipient = () => {
      accepted += 1;
      if (accepted % 3 !== 0) return undefined;
      return { code: 452, text: '4.5.3 too many recipients' };
    };
    const recipients = Array.from({ length: 4 }, (_, index) => `r${index}@example.com`);
    // Two are accepted, one is not, then one is, and the next, which is asked about in the second transaction.
    const delivery = await deliver({ recipients });
    expect(delivery).to.include({ state: 'sent', attempts: 1 });
    expect(server.emails.slice(before).flatMap(({ to }) => to)).to.have.members(recipients);
  });

  describe('a second account', () => {
    it('is tried at once when the first one certainly has not sent: each attempt with its carrier', async () => {
      const port = await findFreePort();
      for (const [broken, outcome] of [
        [smtp({ port }), 'retry'],
        [smtp({ password: 'canary-wrong' }), 'paused'],
      ] as const) {
        tenant = await createTenant(db.database);
        await setAccount(broken, { kind: 'sendgrid' });
        expect(await deliver(), outcome).to.include({ state: 'sent', attempts: 1 });
        expect(await attempts()).to.deep.equal([`smtp ${outcome}`, 'sendgrid sent']);
      }
      // Known by now not to respond with this login: the next email does not ask.
      await writeEvents(db.database, tenant, 1);
      await waitFor('the second email', () => Promise.resolve(mine().sendgrid.length === 2));
      expect((await attempts()).filter((each) => each.startsWith('smtp'))).to.have.length(1);
    });

    it('is not tried after an outcome that can’t be known, however often the first one then fails', async () => {
      await setAccount({ kind: 'sendgrid' }, smtp());
      nextResponses = [
        { kind: 'reset-after' },
        { kind: 'reply', status: 401 },
        { kind: 'reply', status: 302 },
        { kind: 'reply', status: 429, headers: { 'retry-after': '1' } },
      ];
      expect(await deliver()).to.include({ state: 'sent' });
      expect(await attempts()).to.deep.equal([
        'sendgrid ambiguous',
        'sendgrid retry',
        'sendgrid retry',
        'sendgrid rate_limited',
        'sendgrid sent',
      ]);
      expect(mine().smtp).to.have.length(0);
    });

    it('is not tried for an email that the first one refuses for good', async () => {
      await setAccount({ kind: 'sendgrid' }, smtp());
      nextResponses = [{ kind: 'reply', status: 400 }];
      expect(await deliver()).to.include({ state: 'failed', error_code: 'CARRIER_400' });
      expect(await attempts()).to.deep.equal(['sendgrid rejected']);
    });

    it('pauses the tenant only once every account is refused', async () => {
      await setAccount(smtp({ password: 'canary-wrong' }), { kind: 'sendgrid' });
      provider.behave = () => ({ kind: 'reply', status: 401 });
      expect(await deliver()).to.include({ state: 'paused', attempts: 0, error_code: 'APIKEY_REFUSED' });
      expect(await attempts()).to.deep.equal(['smtp paused', 'sendgrid paused']);
    });
  });
});
