import { expect } from 'chai';
import { pollOutbox } from '../../src/db/outbox/pollOutbox.js';
import { createRule, createTenant, writeEvents } from '../delivery/pipelineSetup.js';
import { createTestDatabase, type TestDatabase } from '../support/testDatabase.js';

const LIMITS = { batchEvents: 10_000, pollEvents: 20_000 };
const EVENTS = 20_000;
/** It took three minutes, and as long again for each further 20,000 events of a transaction. */
const MAX_MS = 30_000;

/** Each event was compared with all tables of all rules, in the one statement that reads the events of all tenants. */
describe('attack: events of a tenant whose rules have very many tables', () => {
  let db: TestDatabase;
  before(async () => (db = await createTestDatabase()));
  after(() => db.drop());

  it('do not keep those of others from being read, and are found', async () => {
    const { ledger, pool } = db.database;
    const [hostile, other] = [await createTenant(db.database), await createTenant(db.database)];
    await createRule(db.database, other);
    const ruleid = await createRule(db.database, hostile, { targets: ['t1'], operations: ['update'] });
    await pool.query(
      `insert into rowpost.email_rule (tenantid, name, operations, targets, email_type, query_roleid, enabled)
       select tenantid, 'rule ' || g, '{insert,delete}', array(select 't' || (100 + i) from generate_series(1, 300) i),
         email_type, query_roleid, g < 800
       from rowpost.email_rule, generate_series(1, 800) g where ruleid = $1`,
      [ruleid],
    );
    const events = async (): Promise<readonly (readonly [number, number])[]> => {
      const { batches } = await pollOutbox(ledger, LIMITS);
      return batches.map((batch) => [batch.tenantid, batch.events] as const);
    };
    await writeEvents(db.database, hostile, EVENTS, { target: 'none' });
    const startedAtMs = performance.now();
    expect(await events()).to.deep.equal([]);
    expect(performance.now() - startedAtMs).to.be.below(MAX_MS);

    // Few or many, what a rule covers is in a batch, and nothing else.
    for (const count of [1, 50]) {
      await writeEvents(db.database, hostile, count, { target: 't200' });
      await writeEvents(db.database, hostile, count, { target: 't200', operation: 'update' });
      await writeEvents(db.database, hostile, count, { target: 't1', operation: 'update' });
      await writeEvents(db.database, hostile, count, { target: 't1' });
      await writeEvents(db.database, hostile, count, { target: 't20' });
      await writeEvents(db.database, other, count);
      await writeEvents(db.database, other, count, { target: 't200' });
      expect(await events()).to.have.deep.members([
        [hostile.tenantid, 2 * count],
        [other.tenantid, count],
      ]);
    }
  });
});
