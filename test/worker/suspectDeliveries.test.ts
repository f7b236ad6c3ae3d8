import { expect } from 'chai';
import { startFakeProvider, type FakeProvider } from '../support/fakeProvider.js';
import { createTestDatabase, type TestDatabase } from '../support/testDatabase.js';
import { waitFor } from '../support/waitFor.js';
import {
  countStates,
  createRule,
  createTenant,
  pipelineConfig,
  startPipeline,
  writeEvents,
  type Pipeline,
  type TestTenant,
} from '../delivery/pipelineSetup.js';

const SUSPECTS = 5;
const ANSWER_MS = 150;

describe('deliveries whose attempts were lost with their processes', () => {
  let db: TestDatabase;
  let provider: FakeProvider;
  let tenant: TestTenant;
  let pipeline: Pipeline;

  beforeEach(async () => {
    db = await createTestDatabase();
    provider = await startFakeProvider();
    tenant = await createTenant(db.database);
    await createRule(db.database, tenant);
    const config = await pipelineConfig('redis', {
      DATABASE_URL: db.url,
      SENDGRID_BASE_URL: provider.url,
      // A retry does not come by itself while this runs.
      BACKOFF_BASE_MS: '86400000',
      BACKOFF_CAP_MS: '86400000',
    });
    pipeline = await startPipeline(db.database, config);
  });
  afterEach(async () => {
    await pipeline.stop();
    await provider.stop();
    await db.drop();
  });

  /** Tried once, refused for now, and as if processes had ended with them since. */
  const leaveOpen = async (lost: number): Promise<void> => {
    provider.behave = () => ({ kind: 'reply', status: 500 });
    await writeEvents(db.database, tenant, SUSPECTS);
    const retrying = async () => (await countStates(db.database, tenant.tenantid))['retrying'] === SUSPECTS;
    await waitFor('refusals', retrying);
    provider.behave = () => ({ kind: 'slow', ms: ANSWER_MS });
    await db.database.pool.query(
      `update rowpost.delivery set lost = $2, next_attempt = now(), due = now() where tenantid = $1`,
      [tenant.tenantid, lost],
    );
  };
  const gapsMs = (): readonly number[] => {
    const times = provider.calls.filter(({ accepted }) => accepted).map(({ atMs }) => atMs);
    return times.slice(1).map((atMs, index) => atMs - (times[index] ?? 0));
  };
  const allSent = async () => (await countStates(db.database, tenant.tenantid))['sent'] === SUSPECTS;

  it('are tried one after the other from the second on, so that one takes no bystanders along', async () => {
    await leaveOpen(2);
    await waitFor('all emails', allSent);
    expect(gapsMs()).to.have.length(SUSPECTS - 1);
    for (const gapMs of gapsMs()) expect(gapMs).to.be.at.least(ANSWER_MS * 0.9);
  });

  it('go side by side after the first one', async () => {
    await leaveOpen(1);
    await waitFor('all emails', allSent);
    expect(Math.min(...gapsMs())).to.be.below(ANSWER_MS / 2);
  });
});
