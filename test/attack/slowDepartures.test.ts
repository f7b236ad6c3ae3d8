import { expect } from 'chai';
import { leaveCell } from '../../src/db/cells/moving/leaveCell.js';
import { openBatches } from '../../src/db/outbox/batches.js';
import { pollOutbox } from '../../src/db/outbox/pollOutbox.js';
import { closePlainBatch } from '../../src/db/ledger/closeBatch.js';
import { createRule, createTenant, NO_LIMITS, writeEvents } from '../delivery/pipelineSetup.js';
import { createTestDatabase, type TestDatabase } from '../support/testDatabase.js';
import { waitFor } from '../support/waitFor.js';

const LIMITS = { batchEvents: 10, pollEvents: 100 };

/** To delete millions of deliveries takes minutes, in which no relay read the events of any tenant. */
describe('attack: a tenant with many deliveries leaves a cell', () => {
  let db: TestDatabase;
  before(async () => (db = await createTestDatabase()));
  after(() => db.drop());

  it("while others' events are read", async () => {
    const { ledger, pool, tenants } = db.database;
    const [leaving, other] = [await createTenant(db.database), await createTenant(db.database)];
    for (const tenant of [leaving, other]) await createRule(db.database, tenant);
    await writeEvents(db.database, leaving, 3);
    const { batches } = await pollOutbox(ledger, LIMITS);
    await closePlainBatch(ledger, batches[0]!, NO_LIMITS);
    await writeEvents(db.database, leaving, 2);
    const { tenantid } = leaving;
    const { rows } = await pool.query<{ schema: string }>(
      `update rowpost.tenant set moved_to = 'there', move = 1 where tenantid = $1 returning schema`,
      [tenantid],
    );
    const slow = await pool.connect();
    await slow.query('begin');
    await slow.query('select from rowpost.delivery where tenantid = $1 for update', [tenantid]);
    const role = (await tenants.names()).tenant(tenantid);
    const left = leaveCell(pool, { tenantid, schema: rows[0]!.schema, role }, 1);
    try {
      await waitFor('it to delete the deliveries', async () => {
        const { rowCount } = await pool.query(
          `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
             and query like 'delete from "rowpost"."delivery"%'`,
        );
        return rowCount === 1;
      });
      await writeEvents(db.database, other, 1);
      const read = await pollOutbox(ledger, LIMITS);
      expect(read.batches.map((batch) => batch.tenantid)).to.deep.equal([other.tenantid]);
    } finally {
      await slow.query('commit');
      slow.release();
    }
    expect(await left).to.equal(true);
    const open = await openBatches(ledger, { minAgeMs: -1_000, limit: 10 });
    expect(open.map((batch) => batch.tenantid)).to.deep.equal([other.tenantid]);
    const { rowCount } = await pool.query(
      `select from rowpost.tenant where tenantid = $1
       union all select from rowpost.delivery where tenantid = $1`,
      [tenantid],
    );
    expect(rowCount).to.equal(0);
  });
});
