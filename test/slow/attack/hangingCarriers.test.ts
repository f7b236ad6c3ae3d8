import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import {
  countStates,
  createRule,
  createTenant,
  pipelineConfig,
  startPipeline,
  writeEvents,
  type TestTenant,
} from '../../delivery/pipelineSetup.js';
import { startFakeProvider, type FakeProvider } from '../../support/fakeProvider.js';
import { createTestDatabase, type TestDatabase } from '../../support/testDatabase.js';
import { waitFor } from '../../support/waitFor.js';

const SLOTS = 8;
const DEADLINE_MS = 6_000;

describe('attack: carriers that are not responding', () => {
  let test: TestDatabase;
  let provider: FakeProvider;
  beforeEach(async () => {
    test = await createTestDatabase();
    provider = await startFakeProvider();
  });
  afterEach(async () => {
    await provider.stop();
    await test.drop();
  });

  /** Starts a pipeline with tenants whose carrier hangs. @returns the longest that another tenant's email takes meanwhile */
  const longestMs = async (count: number, change: (tenant: TestTenant) => Promise<void>): Promise<number> => {
    const { database } = test;
    const config = await pipelineConfig('postgres', {
      SENDGRID_BASE_URL: provider.url,
      WORKER_CONCURRENCY: String(SLOTS),
      SEND_DEADLINE_MS: String(DEADLINE_MS),
      LEASE_MS: '10000',
    });
    const other = await createTenant(database);
    const hostile = await Promise.all(Array.from({ length: count }, () => createTenant(database)));
    for (const tenant of [other, ...hostile]) await createRule(database, tenant);
    provider.behave = ({ apiKey }) => ({ kind: apiKey === other.apiKey ? 'accept' : 'hang' });
    const pipeline = await startPipeline(database, config);
    await Promise.all(hostile.map(change));
    await waitFor('a call that hangs', () => provider.calls.length >= count);
    await delay(500);
    let longest = 0;
    for (let sent = 1; sent <= 3; sent++) {
      const startedAtMs = performance.now();
      await writeEvents(database, other, 1);
      await waitFor('the email of another tenant', async () => {
        return (await countStates(database, other.tenantid))['sent'] === sent;
      });
      longest = Math.max(longest, performance.now() - startedAtMs);
    }
    await pipeline.stop();
    return longest;
  };

  it('of one tenant whose batches are small take no place of others', async () => {
    const change = async (tenant: TestTenant): Promise<void> => {
      for (let changes = 0; changes < 3 * SLOTS; changes++) {
        await writeEvents(test.database, tenant, 1);
        await delay(50);
      }
    };
    expect(await longestMs(1, change)).to.be.below(2_000);
  });

  it('of several tenants leave slots to others', async () => {
    expect(await longestMs(3, (tenant) => writeEvents(test.database, tenant, 50))).to.be.below(2_000);
  });
});
