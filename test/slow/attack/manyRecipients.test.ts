import { expect } from 'chai';
import { readAddresses } from '../../../src/control/email/addresses.js';
import {
  countStates,
  createRule,
  createTenant,
  pipelineConfig,
  QUEUE,
  startPipeline,
  writeEvents,
  type Pipeline,
} from '../../delivery/pipelineSetup.js';
import { startFakeProvider, type FakeProvider } from '../../support/fakeProvider.js';
import { watchEventLoop } from '../../support/loopBlocks.js';
import { createTestDatabase, type TestDatabase } from '../../support/testDatabase.js';
import { waitFor } from '../../support/waitFor.js';

/** As many as fitted into a request. */
const RECIPIENTS = 100_000;
/** For a busy machine; it was two seconds. */
const MAX_HELD_MS = 1_000;

/** An email that failed was read again for whom it was meant, where each of its addresses was looked for among all. */
describe('attack: email types with a hundred thousand recipients', () => {
  let db: TestDatabase;
  let provider: FakeProvider;
  let pipeline: Pipeline;
  before(async () => {
    db = await createTestDatabase();
    provider = await startFakeProvider();
    const config = await pipelineConfig(QUEUE, { SENDGRID_BASE_URL: provider.url });
    pipeline = await startPipeline(db.database, config);
  });
  after(async () => {
    await pipeline.stop();
    await provider.stop();
    await db.drop();
  });

  it('do not hold a worker up when their emails fail', async () => {
    const tenant = await createTenant(db.database);
    await createRule(db.database, tenant, { recipients: Array.from({ length: RECIPIENTS }, () => 'a@b.c') });
    const longestMs = watchEventLoop();
    await writeEvents(db.database, tenant, 1);
    await waitFor('its end', async () => (await countStates(db.database, tenant.tenantid))['failed'] === 1);
    expect(longestMs()).to.be.below(MAX_HELD_MS);
  });

  it('are refused', () => {
    const given = (count: number): readonly string[] => Array.from({ length: count }, () => 'a@b.c');
    expect(readAddresses(given(1_000), 'options.cc')).to.have.length(1_000);
    expect(() => readAddresses(given(1_001), 'options.cc')).to.throw('options.cc may contain at most 1000');
  });
});
