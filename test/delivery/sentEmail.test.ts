import { expect } from 'chai';
import { createTemplatePool, type TemplatePool } from 'rowpost-jinja2';
import { dropOldPartitions } from '../../src/db/outbox/partitions.js';
import { toSentEmail, packEmail, unpackEmail, type ShownEmail } from '../../src/email/sentEmail.js';
import { KeyRing } from '../../src/config/secrets.js';
import { partOf, startFakeProvider, type FakeProvider } from '../support/fakeProvider.js';
import { createTestDatabase, type TestDatabase } from '../support/testDatabase.js';
import { waitFor } from '../support/waitFor.js';
import {
  createRule,
  createTenant,
  keyRing,
  pipelineConfig,
  startPipeline,
  writeEvents,
  type Pipeline,
  type TestTenant,
} from './pipelineSetup.js';
import { knexOf } from '../support/knexOf.js';

describe('delivery: emails are kept as they were sent', () => {
  let db: TestDatabase;
  let provider: FakeProvider;
  let pipeline: Pipeline;
  let templates: TemplatePool;

  before(async () => {
    db = await createTestDatabase();
    provider = await startFakeProvider();
    templates = createTemplatePool();
    pipeline = await start('7');
  });
  after(async () => {
    await pipeline.stop();
    await templates.close();
    await provider.stop();
    await db.drop();
  });

  const start = async (days: string): Promise<Pipeline> =>
    startPipeline(
      db.database,
      await pipelineConfig('postgres', { SENDGRID_BASE_URL: provider.url, KEEP_EMAIL_DAYS: days }),
      { templates },
    );
  const deliver = async (tenant: TestTenant): Promise<void> => {
    await createRule(db.database, tenant, { template: '<p>Hello {{ records.new.name }}</p>' });
    await writeEvents(db.database, tenant, 1, { new: { name: 'Ada <b>' } });
    await waitFor('the email', async () =>
      knexOf(db.database)('rowpost.email_delivery')
        .where({ tenantid: tenant.tenantid, state: 'sent' })
        .first<object | undefined>(),
    );
  };
  const kept = (
    tenant: Pick<TestTenant, 'tenantid'>,
  ): Promise<{ deliveryid: string; attempt: number; email: Buffer }[]> =>
    knexOf(db.database)('rowpost.sent_mail')
      .where({ tenantid: tenant.tenantid })
      .orderBy('attempt')
      .select('deliveryid', 'attempt', 'email');

  it('one for each attempt, as the provider was given it, encrypted', async () => {
    const tenant = await createTenant(db.database);
    const responses = [503];
    provider.behave = () => {
      const status = responses.shift();
      return status === undefined ? { kind: 'accept' } : { kind: 'reply', status };
    };
    await deliver(tenant);
    const emails = await kept(tenant);
    const calls = provider.calls.filter((call) => call.tenantid === String(tenant.tenantid));
    expect(emails.map(({ attempt }) => attempt)).to.deep.equal([1, 2]);
    for (const [i, { deliveryid, attempt, email }] of emails.entries()) {
      expect(email.toString('latin1')).not.to.include('Hello').and.not.include('ada@');
      const opened = await unpackEmail(keyRing, { tenantid: tenant.tenantid, deliveryid, attempt }, email);
      const { body } = calls[i]!;
      expect(opened).to.include({ subject: body.subject, html: partOf(body, 'text/html') });
      expect(opened.recipients).to.deep.equal(['ada@example.com']);
      expect(opened.headers['Message-ID']).to.equal(body.headers?.['Message-ID']);
    }
    expect(calls).to.have.length(2);
  });

  it('not with KEEP_EMAIL_DAYS=0', async () => {
    const tenant = await createTenant(db.database);
    await pipeline.stop();
    pipeline = await start('0');
    await deliver(tenant);
    expect(await kept(tenant)).to.deep.equal([]);
    await pipeline.stop();
    pipeline = await start('7');
  });

  it('until their days are over, and other records longer', async () => {
    const tenant = await createTenant(db.database);
    await deliver(tenant);
    await pipeline.stop();
    const dayMs = 24 * 3600 * 1000;
    const days = { retentionDays: 30, keepEmailDays: 7 };
    await dropOldPartitions(db.database.ledger, Date.now() + 7 * dayMs, days);
    expect(await kept(tenant)).to.have.length(1);
    await dropOldPartitions(db.database.ledger, Date.now() + 9 * dayMs, days);
    expect(await kept(tenant)).to.have.length(0);
    const attempts = knexOf(db.database)('rowpost.email_attempt').where({ tenantid: tenant.tenantid });
    expect(await attempts).to.have.length(1);
    pipeline = await start('7');
  });
});

describe('a packed email', () => {
  const key = { tenantid: 1, deliveryid: '7', attempt: 1 };
  const email = (html: string): ShownEmail =>
    toSentEmail(
      { sender: address('shop'), recipients: [address('ada')], cc: [], bcc: [], subject: 'S', html },
      '<7@example.com>',
    );
  const address = (name: string) => ({ name: '', email: `${name}@example.com` });

  it('opens with every key that SECRET_KEYS has, for its own attempt alone', async () => {
    const [one, two] = [KeyRing.generateEntry('one'), KeyRing.generateEntry('zwei-ü')];
    const packed = (await packEmail(KeyRing.parse(one), key, email('<p>ü</p>')))!;
    const rotated = KeyRing.parse(`${two},${one}`);
    expect(await unpackEmail(rotated, key, packed)).to.deep.equal(email('<p>ü</p>'));
    const newer = (await packEmail(rotated, key, email('x')))!;
    expect((await unpackEmail(KeyRing.parse(two), key, newer)).html).to.equal('x');
    const refused = async (ring: KeyRing, other: typeof key, bytes: Buffer): Promise<boolean> =>
      unpackEmail(ring, other, bytes).then(
        () => false,
        () => true,
      );
    expect(await refused(KeyRing.parse(two), key, packed), 'without its key').to.equal(true);
    for (const other of [{ tenantid: 2 }, { deliveryid: '8' }, { attempt: 2 }])
      expect(await refused(rotated, { ...key, ...other }, packed), JSON.stringify(other)).to.equal(true);
    const altered = Buffer.from(packed);
    altered[altered.length - 1]! ^= 1;
    expect(await refused(rotated, key, altered), 'altered').to.equal(true);
    for (const bytes of [Buffer.alloc(0), packed.subarray(0, 20)])
      expect(await refused(rotated, key, bytes), 'cut').to.equal(true);
  });

  it('is none when it is too large', async () => {
    expect(await packEmail(keyRing, key, email('x'.repeat(1_048_576)))).to.equal(undefined);
    const dense = Array.from({ length: 60_000 }, () => Math.random().toString(36).slice(2, 12)).join('');
    expect(await packEmail(keyRing, key, email(dense))).to.equal(undefined);
  });
});
