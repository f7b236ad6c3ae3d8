import { expect } from 'chai';
import { batchCalls } from '../../src/foundation/limits/batchCalls.js';
import {
  countStates,
  createRule,
  createTenant,
  pipelineConfig,
  QUEUE,
  startPipeline,
  writeEvents,
  type Pipeline,
} from '../delivery/pipelineSetup.js';
import { startFakeProvider, type FakeProvider } from '../support/fakeProvider.js';
import { createTestDatabase, type TestDatabase } from '../support/testDatabase.js';
import { waitFor } from '../support/waitFor.js';

/** A text that is cut within an emoji ends with half of a pair of surrogates, which no JSON text in PostgreSQL may have. */
describe('attack: texts that are cut within a character', () => {
  let db: TestDatabase;
  let provider: FakeProvider;
  let pipeline: Pipeline;
  before(async () => {
    db = await createTestDatabase();
    provider = await startFakeProvider();
    pipeline = await startPipeline(
      db.database,
      await pipelineConfig(QUEUE, { SENDGRID_BASE_URL: provider.url }),
    );
  });
  after(async () => {
    await pipeline.stop();
    await provider.stop();
    await db.drop();
  });

  const cutAt = (characters: number): string => `${'x'.repeat(characters - 1)}😀`;

  it('of what is no address do not keep the email from those who have one', async () => {
    const tenant = await createTenant(db.database);
    await createRule(db.database, tenant, { recipients: ['ada@example.com', cutAt(320)] });
    await writeEvents(db.database, tenant, 1);
    await waitFor('the email', async () => (await countStates(db.database, tenant.tenantid))['sent'] === 1);
    expect(provider.calls).to.have.length(1);
  });

  it('of what is no address do not keep a delivery from ending', async () => {
    const tenant = await createTenant(db.database);
    await createRule(db.database, tenant, { recipients: [cutAt(320)] });
    await writeEvents(db.database, tenant, 1);
    await waitFor('its end', async () => (await countStates(db.database, tenant.tenantid))['skipped'] === 1);
  });

  it('of the subject do not keep a delivery from ending', async () => {
    const tenant = await createTenant(db.database);
    await createRule(db.database, tenant, { subject: cutAt(10_000), recipients: ['nobody'], sender: 'x' });
    await writeEvents(db.database, tenant, 1);
    await waitFor('its end', async () => (await countStates(db.database, tenant.tenantid))['failed'] === 1);
  });
});

/** One such text had the starts and ends of 199 other deliveries recorded one after another, while all that came later waited. */
describe('attack: a delivery that PostgreSQL refuses', () => {
  it('does not have others recorded one by one', async () => {
    let statements = 0;
    const record = batchCalls((items: readonly number[]) => {
      statements += 1;
      return items.includes(77) ? Promise.reject(new Error('refused')) : Promise.resolve(items);
    }, 200);
    const results = await Promise.allSettled(Array.from({ length: 200 }, (_, index) => record(index)));
    expect(results.flatMap(({ status }, index) => (status === 'rejected' ? [index] : []))).to.deep.equal([
      77,
    ]);
    expect(statements).to.be.at.most(17);
  });
});
