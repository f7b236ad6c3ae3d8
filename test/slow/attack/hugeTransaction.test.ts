import { expect } from 'chai';
import pg from 'pg';
import { createLedger } from '../../../src/db/pool/ledgerPool.js';
import { pollOutbox } from '../../../src/db/outbox/pollOutbox.js';
import { createRule, createTenant, writeEvents } from '../../delivery/pipelineSetup.js';
import { createTestDatabase, type TestDatabase } from '../../support/testDatabase.js';

/** The relay reads a transaction in one piece: six million events took as long as a statement may, again and again. */
describe('attack: a transaction with more events than a statement can read in time', () => {
  let db: TestDatabase;
  before(async () => (db = await createTestDatabase()));
  after(() => db.drop());

  it('does not hold up the email of others', async () => {
    const [hostile, other] = [await createTenant(db.database), await createTenant(db.database)];
    await createRule(db.database, other);
    await writeEvents(db.database, hostile, 100_000);
    await writeEvents(db.database, other, 1);
    const pool = new pg.Pool({
      connectionString: db.url,
      options: '-c statement_timeout=50',
      pipeline: true,
    });
    try {
      const { batches } = await pollOutbox(createLedger(pool), { batchEvents: 10, pollEvents: 1_000_000 });
      expect(batches.map(({ tenantid }) => tenantid)).to.deep.equal([other.tenantid]);
    } finally {
      await pool.end();
    }
  });
});
