import { expect } from 'chai';
import pg from 'pg';
import { openShop, type Shop } from '../graphql/support/shop.js';

/** Code that a transaction of the tenant's own login has made, and not committed, when the schema is judged. */
describe('uncommitted code', () => {
  let shop: Shop;
  before(async () => (shop = await openShop('create table notes (id int primary key)')));
  after(() => shop.close());

  it('keeps the tenant on dedicated connections', async () => {
    const { database, url } = shop.test;
    const { tenantid, schema } = shop.tenant;
    await shop.sql('create function f() returns int language sql as $$ select 1 $$');
    await database.tenants.settle(tenantid, schema);
    expect(database.tenants.loginOf(tenantid)).to.equal(tenantid);
    const lease = await database.tenants.acquire(tenantid);
    const witness = new pg.Client({ connectionString: url });
    await witness.connect();
    try {
      await lease.client.query(
        `begin; create function ${schema}.late() returns int language sql as $$ select 1 $$`,
      );
      await witness.query(`drop function ${schema}.f()`);
      await database.tenants.settle(tenantid, schema);
      expect(database.tenants.loginOf(tenantid)).to.equal(tenantid);
      await lease.client.query('rollback');
      await database.tenants.settle(tenantid, schema);
      expect(database.tenants.loginOf(tenantid)).to.equal('shared');
    } finally {
      lease.release(true);
      await witness.end();
    }
  });
});
