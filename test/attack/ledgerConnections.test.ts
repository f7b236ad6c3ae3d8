import { setTimeout as delay } from 'node:timers/promises';
import { divideConnections } from '../../src/db/pool/connectionBudget.js';
import { statement } from '../../src/db/sql/sql.js';
import {
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

/** Of the sessions of a test: after so long, a batch that waits fails, and another one waits. */
const LOCK_TIMEOUT_MS = 5_000;
const PG_POOL = 24;
/** Fewer than a rule may fire for a record in a minute. */
const BATCHES = 50;

/** Batches of a thousand rules and events with keys of a megabyte held all connections of the ledger, until each was canceled, and again. */
describe("attack: batches that take as long as the ledger's statements may", () => {
  let db: TestDatabase;
  let provider: FakeProvider;
  let pipeline: Pipeline;
  before(async () => {
    db = await createTestDatabase({ budget: divideConnections(PG_POOL, 'worker', false) });
    provider = await startFakeProvider();
    const config = await pipelineConfig(QUEUE, {
      SENDGRID_BASE_URL: provider.url,
      TENANT_EMAILS_PER_SECOND: '1000',
    });
    pipeline = await startPipeline(db.database, config);
  });
  after(async () => {
    await pipeline.stop();
    await provider.stop();
    await db.drop();
  });

  it('leave connections to the deliveries of others', async () => {
    const { database } = db;
    const [hostile, other] = [await createTenant(database), await createTenant(database)];
    for (const tenant of [hostile, other]) await createRule(database, tenant);
    const sentTo = ({ apiKey }: typeof other): number =>
      provider.calls.filter((call) => call.apiKey === apiKey).length;
    await writeEvents(database, hostile, 1);
    await waitFor('the first email', () => sentTo(hostile) === 1);

    // From here on, each of its batches waits for this row.
    const holder = await database.pool.connect();
    await holder.query(
      statement`begin; set local idle_in_transaction_session_timeout = 0; set local statement_timeout = 0`,
    );
    await holder.query(statement`select from rowpost.email_pace where tenantid = $1 for update`, [
      hostile.tenantid,
    ]);
    try {
      for (let batch = 0; batch < BATCHES; batch++) {
        await writeEvents(database, hostile, 1);
        // Each in a poll of its own.
        await delay(30);
      }
      for (let sent = 1; sent <= 3; sent++) {
        await writeEvents(database, other, 1);
        await waitFor('the email of another tenant', () => sentTo(other) === sent, {
          timeoutMs: LOCK_TIMEOUT_MS,
        });
      }
    } finally {
      await holder.query('rollback');
      holder.release();
    }
    await waitFor('all emails', () => sentTo(hostile) === 1 + BATCHES);
  });
});
