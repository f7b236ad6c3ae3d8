import { expect } from 'chai';
import { loadBatch, loadEventRecords } from '../../../../src/db/outbox/batches.js';
import { closeBatch, closePlainBatch } from '../../../../src/db/ledger/closeBatch.js';
import { pollOutbox } from '../../../../src/db/outbox/pollOutbox.js';
import { startIdRange } from '../../../../src/db/tenants/idRange.js';
import { createRule, createTenant, NO_LIMITS, writeEvents } from '../../../delivery/pipelineSetup.js';
import { createTestDatabase, type TestDatabase } from '../../../support/testDatabase.js';

describe('events carried from another cell', () => {
  let test: TestDatabase;
  before(async () => (test = await createTestDatabase()));
  after(() => test.drop());

  it("don't belong to another tenant's batch that has events with the same ids", async () => {
    const { database } = test;
    const { ledger, pool } = database;
    const [tenant, moved] = [await createTenant(database), await createTenant(database)];
    const ruleid = await createRule(database, tenant);
    await createRule(database, moved);
    for (let n = 0; n < 4; n++) await writeEvents(database, tenant, 1);
    await pool.query(
      `insert into rowpost.outbox (eventid, tenantid, time, xid, roleid, operation, target, key, old, new) overriding system value
       select o.eventid, $2, o.time + interval '1 microsecond', '1', o.roleid, o.operation, o.target, o.key, o.old, o.new
       from rowpost.outbox o where o.tenantid = $1`,
      [tenant.tenantid, moved.tenantid],
    );
    const [plain, checked] = (await pollOutbox(ledger, { batchEvents: 2, pollEvents: 10 })).batches;
    const events = (await loadBatch(ledger, plain!))!.events;
    expect(events).to.have.length(2);
    const eventids = events.map(({ eventid }) => eventid);
    expect(await loadEventRecords(ledger, plain!, eventids)).to.have.length(2);
    await closePlainBatch(ledger, plain!, NO_LIMITS);
    const others = (await loadBatch(ledger, checked!))!.events;
    await closeBatch(
      ledger,
      checked!,
      others.map(({ eventid }) => ({ eventid, ruleid })),
      NO_LIMITS,
    );
    const { rows } = await pool.query<{ tenantid: number; count: number }>(
      'select tenantid, count(*)::int from rowpost.delivery group by 1',
    );
    expect(rows).to.deep.equal([{ tenantid: tenant.tenantid, count: 4 }]);
  });

  it('have ids of the range of their cell', async () => {
    const { database } = test;
    await startIdRange(database.pool, [], 3);
    const tenant = await createTenant(database);
    await writeEvents(database, tenant, 1);
    await startIdRange(database.pool, [], 3);
    await writeEvents(database, tenant, 1);
    const { rows } = await database.pool.query<{ eventid: string }>(
      'select eventid from rowpost.outbox where tenantid = $1 order by 1',
      [tenant.tenantid],
    );
    expect(rows.map(({ eventid }) => Number(eventid) - 3 * 2 ** 44)).to.deep.equal([1, 2]);
  });
});
