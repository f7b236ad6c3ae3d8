import { setTimeout as delay } from 'node:timers/promises';
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
/** Longer than anything is waited for here: no call that hangs ends before the test. */
const DEADLINE_MS = 120_000;

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

  /** Sends emails of a tenant while all calls to the carriers of others hang. */
  const sendMeanwhile = async (
    count: number,
    change: (tenant: TestTenant) => Promise<void>,
  ): Promise<void> => {
    const { database } = test;
    const config = await pipelineConfig('postgres', {
      SENDGRID_BASE_URL: provider.url,
      WORKER_CONCURRENCY: String(SLOTS),
      SEND_DEADLINE_MS: String(DEADLINE_MS),
      LEASE_MS: String(2 * DEADLINE_MS),
    });
    const other = await createTenant(database);
    const hostile = await Promise.all(Array.from({ length: count }, () => createTenant(database)));
    for (const tenant of [other, ...hostile]) await createRule(database, tenant);
    provider.behave = ({ apiKey }) => ({ kind: apiKey === other.apiKey ? 'accept' : 'hang' });
    const pipeline = await startPipeline(database, config);
    await Promise.all(hostile.map(change));
    await waitFor('a call that hangs', () => provider.calls.length >= count);
    await delay(500);
    for (let sent = 1; sent <= 3; sent++) {
      await writeEvents(database, other, 1);
      await waitFor('the email of another tenant', async () => {
        return (await countStates(database, other.tenantid))['sent'] === sent;
      });
    }
    await pipeline.stop();
  };

  it('of one tenant whose batches are small take no place of others', async () => {
    const change = async (tenant: TestTenant): Promise<void> => {
      for (let changes = 0; changes < 3 * SLOTS; changes++) {
        await writeEvents(test.database, tenant, 1);
        await delay(50);
      }
    };
    await sendMeanwhile(1, change);
  });

  it('of several tenants leave slots to others', async () => {
    await sendMeanwhile(3, (tenant) => writeEvents(test.database, tenant, 50));
  });
});
