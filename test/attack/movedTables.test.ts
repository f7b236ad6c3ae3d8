import { expect } from 'chai';
import { captureTable } from '../../src/control/utility/capture.js';
import { createTestTenant } from '../support/createTestTenant.js';
import { runTenantSql } from '../../src/db/tenants/tenantSql.js';
import { openShop, type Shop } from '../graphql/support/shop.js';
import { inTransaction } from '../../src/db/pool/inTransaction.js';

/** A captured table that its owner had moved into a schema of another tenant, where it may create, wrote events in that tenant's name. */
describe('attack: a captured table that moves to the schema of another tenant', () => {
  let shop: Shop;
  before(async () => (shop = await openShop('create table sale (id int primary key, body text)')));
  after(() => shop.close());

  it('writes none there', async () => {
    const { database } = shop.test;
    const other = await createTestTenant(database.pool, {
      name: 'other',
      rootLogin: 'root',
      rootPassword: 'correct horse',
    });
    const { tenantid, schema } = shop.tenant;
    const catalog = await shop.engine.introspect(tenantid, schema);
    await inTransaction(database.pool, (trx) =>
      captureTable(trx, database, { tenantid, catalog, table: 'sale' }, 'all'),
    );
    const role = (await database.tenants.names()).tenant(shop.tenant.tenantid);
    await runTenantSql(database, {
      tenantid: other.tenantid,
      sql: `grant usage, create on schema ${other.schema} to ${role}`,
    });
    await shop.sql(`insert into sale values (1, 'a')`);
    expect((await shop.events()).map(({ tenantid }) => tenantid)).to.deep.equal([shop.tenant.tenantid]);
    await shop.sql(
      `alter table sale set schema ${other.schema}; insert into ${other.schema}.sale values (2, 'b')`,
    );
    expect(await shop.events()).to.deep.equal([]);
  });
});
