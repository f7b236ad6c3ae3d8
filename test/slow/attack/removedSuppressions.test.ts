import { expect } from 'chai';
import { closePlainBatch } from '../../../src/db/ledger/closeBatch.js';
import { loadDeliveries } from '../../../src/db/ledger/loadDeliveries.js';
import { pollOutbox } from '../../../src/db/outbox/pollOutbox.js';
import { createRule, createTenant, NO_LIMITS, writeEvents } from '../../delivery/pipelineSetup.js';
import { createTestDatabase, type TestDatabase } from '../../support/testDatabase.js';

const REMOVED = 500_000;
const RUNS = 5;

/** Whether a tenant has suppressed addresses was looked for among those removed as well, in the statement that loads everybody's deliveries. */
describe('attack: addresses that are suppressed and taken off the list again', () => {
  let db: TestDatabase;
  before(async () => (db = await createTestDatabase()));
  after(() => db.drop());

  it('are not read with each delivery', async () => {
    const { ledger, pool } = db.database;
    const [hostile, other] = [await createTenant(db.database), await createTenant(db.database)];
    await pool.query(
      `insert into rowpost.email_suppression (tenantid, address, source, removetime)
       select $1, 'a' || i || '@example.com', 'manual', now() from generate_series(1, $2::int) i`,
      [hostile.tenantid, REMOVED],
    );
    const quickestMs = async (tenant: typeof hostile): Promise<number> => {
      await createRule(db.database, tenant);
      await writeEvents(db.database, tenant, 1);
      const { batches } = await pollOutbox(ledger, { batchEvents: 100, pollEvents: 100 });
      const { ready } = (await closePlainBatch(ledger, batches[0]!, NO_LIMITS))!;
      const took: number[] = [];
      for (let run = 0; run < RUNS; run++) {
        const startedAtMs = performance.now();
        const [loaded] = await loadDeliveries(ledger, ready);
        took.push(performance.now() - startedAtMs);
        expect(loaded?.hasSuppressions).to.equal(false);
      }
      return Math.min(...took);
    };
    const usualMs = await quickestMs(other);
    // It was thirty times as long.
    expect(await quickestMs(hostile)).to.be.below(5 * usualMs + 5);
  });
});
