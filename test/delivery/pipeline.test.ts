import { expect } from 'chai';
import { startFakeProvider, type FakeProvider } from '../support/fakeProvider.js';
import { createTestDatabase, type TestDatabase } from '../support/testDatabase.js';
import { waitFor } from '../support/waitFor.js';
import {
  QUEUE,
  countStates,
  createRule,
  createTenant,
  pipelineConfig,
  startPipeline,
  writeEvents,
  type Pipeline,
  type TestTenant,
} from './pipelineSetup.js';
import { knexOf } from '../support/knexOf.js';

describe(`delivery: from event to provider, queue in ${QUEUE}`, () => {
  let db: TestDatabase;
  let provider: FakeProvider;
  let pipeline: Pipeline;
  let tenant: TestTenant;

  before(async () => {
    db = await createTestDatabase();
    provider = await startFakeProvider();
    // As shipped: no deadline that a busy machine could miss, which would be a possible duplicate.
    const config = await pipelineConfig(QUEUE, {
      SENDGRID_BASE_URL: provider.url,
      SEND_DEADLINE_MS: '15000',
      LEASE_MS: '60000',
    });
    pipeline = await startPipeline(db.database, config, { relays: 2, workers: 2 });
  });
  after(async () => {
    await pipeline.stop();
    await provider.stop();
    await db.drop();
  });
  beforeEach(async () => {
    tenant = await createTenant(db.database);
  });

  it('sends one email per event and matching rule, with the tenant’s key', async () => {
    await createRule(db.database, tenant, {
      recipients: ['Ada <ada@example.com>', 'bob@example.com, ada@example.com'],
      options: { cc: ['cc@example.com'] },
    });
    await writeEvents(db.database, tenant, 1);
    await waitFor('the email', async () => (await countStates(db.database, tenant.tenantid))['sent']);
    const calls = provider.calls.filter((call) => call.tenantid === String(tenant.tenantid));
    expect(calls).to.have.length(1);
    expect(calls[0]).to.include({ apiKey: tenant.apiKey, path: '/v3/mail/send' });
    expect(calls[0]!.body.from).to.deep.equal({ email: 'shop@example.com', name: 'Shop' });
    expect(calls[0]!.body.personalizations).to.deep.equal([
      {
        to: [{ email: 'ada@example.com', name: 'Ada' }, { email: 'bob@example.com' }],
        cc: [{ email: 'cc@example.com' }],
      },
    ]);
    expect(calls[0]!.body.content).to.deep.equal([{ type: 'text/html', value: 'hello' }]);
    expect(calls[0]!.body.headers).to.deep.equal({
      'Auto-Submitted': 'auto-generated',
      'Message-ID': `<delivery.${tenant.tenantid}.${calls[0]!.deliveryid}@localhost>`,
    });
  });

  it('sends 1,000 events of two rules exactly once each, through two relays and two workers', async () => {
    await createRule(db.database, tenant);
    await createRule(db.database, tenant);
    await createRule(db.database, tenant, { operations: ['update'] });
    await createRule(db.database, tenant, { targets: ['other'] });
    await Promise.all(Array.from({ length: 10 }, () => writeEvents(db.database, tenant, 100)));
    await waitFor(
      '2,000 emails',
      async () => (await countStates(db.database, tenant.tenantid))['sent'] === 2000,
    );
    const ambiguous = await knexOf(db.database)('rowpost.email_attempt').whereNot({ outcome: 'sent' });
    expect(ambiguous).to.deep.equal([]);
    const perDelivery = [...provider.acceptedPerDelivery()].filter(([, n]) => n !== 1);
    expect(perDelivery).to.deep.equal([]);
    expect(provider.calls.filter((call) => call.tenantid === String(tenant.tenantid))).to.have.length(2000);
  });
});
