import { expect } from 'chai';
import { captureTable } from '../../src/control/utility/capture.js';
import { createTestTenant } from '../support/createTestTenant.js';
import { endOfEarlierTransactions, fenceTenant, structureOf } from '../../src/db/cells/moving/handOver.js';
import { withWritesHeld } from '../../src/db/cells/moving/writeHold.js';
import { openShop, type Shop } from '../graphql/support/shop.js';
import { inTransaction } from '../../src/db/pool/inTransaction.js';

/** The trigger of a captured table reads the table of tenants, which stays locked until its transaction ends. */
describe('attack: a tenant keeps a transaction open that wrote to a captured table', () => {
  let shop: Shop;
  before(async () => (shop = await openShop('create table notes (id int primary key)')));
  after(() => shop.close());

  it('holds up no move of another tenant', async () => {
    const { database } = shop.test;
    const { tenantid, schema } = shop.tenant;
    const catalog = await shop.engine.introspect(tenantid, schema);
    await inTransaction(database.pool, (trx) =>
      captureTable(trx, database, { tenantid, catalog, table: 'notes' }, 'all'),
    );
    const named = { name: 'other', rootLogin: 'root', rootPassword: 'correct horse' };
    const other = await createTestTenant(database.pool, named);
    const moving = { ...other, role: (await database.tenants.names()).tenant(other.tenantid) };
    const structure = await structureOf(database.pool, moving);
    const session = await database.tenants.connectDirectly(tenantid);
    try {
      await session.query(`begin; insert into ${schema}.notes values (1)`);
      const startedMs = performance.now();
      await withWritesHeld(database.pool, moving, (hold) =>
        fenceTenant(hold, database.pool, moving, { move: 1, movedTo: 'there', structure }),
      );
      await endOfEarlierTransactions(database.pool);
      expect(performance.now() - startedMs).to.be.below(10_000);
    } finally {
      await session.end();
    }
  });
});
