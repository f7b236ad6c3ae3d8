import { expect } from 'chai';
import { openShop, type Shop } from '../../graphql/support/shop.js';

const FINGERPRINT = 'f1';

/** What one process has decided about a schema, and the others take over. */
describe('stored decisions about a schema', () => {
  let shop: Shop;
  before(async () => (shop = await openShop('create table notes (id int primary key)')));
  after(() => shop.close());

  const isSettled = (fingerprint: string): Promise<boolean> =>
    shop.test.database.tenants.isSettled(shop.tenant.tenantid, fingerprint);

  it('are reused while the schema has the same fingerprint', async () => {
    const { tenants } = shop.test.database;
    await tenants.settle(shop.tenant.tenantid, shop.tenant.schema);
    expect(await isSettled(FINGERPRINT)).to.equal(false);
    await tenants.recordSettled(shop.tenant.tenantid, FINGERPRINT);
    expect(await isSettled(FINGERPRINT)).to.equal(true);
    expect(await isSettled('f2')).to.equal(false);
    expect(tenants.loginOf(shop.tenant.tenantid)).to.equal('shared');
  });

  it('are renewed when the shared login has lost the role', async () => {
    const { database } = shop.test;
    const { tenantid, schema } = shop.tenant;
    const names = await database.tenants.names();
    await database.pool.query(`revoke ${names.tenant(tenantid)} from ${names.shared}`);
    expect(await isSettled(FINGERPRINT)).to.equal(false);
    await database.tenants.settle(tenantid, schema);
    expect(await isSettled(FINGERPRINT)).to.equal(true);
  });

  it('are renewed when the shared login can assume the role of a schema with code', async () => {
    const { database } = shop.test;
    const { tenantid, schema } = shop.tenant;
    const names = await database.tenants.names();
    await shop.sql('create function f() returns int language sql as $$ select 1 $$');
    await database.tenants.settle(tenantid, schema);
    await database.tenants.recordSettled(tenantid, FINGERPRINT);
    expect(await isSettled(FINGERPRINT)).to.equal(true);
    expect(database.tenants.loginOf(tenantid)).to.equal(tenantid);
    await database.pool.query(`grant ${names.tenant(tenantid)} to ${names.shared}`);
    expect(await isSettled(FINGERPRINT)).to.equal(false);
  });

  it('are renewed in a copy of the database without the roles', async () => {
    const { database } = shop.test;
    const { tenantid } = shop.tenant;
    const names = await database.tenants.names();
    await database.pool.query(`revoke ${names.tenant(tenantid)} from ${names.shared}`);
    await database.pool.query(`alter role ${names.tenant(tenantid)} rename to of_the_original`);
    expect(await isSettled(FINGERPRINT)).to.equal(false);
    await database.pool.query(`alter role of_the_original rename to ${names.tenant(tenantid)}`);
    expect(await isSettled(FINGERPRINT)).to.equal(true);
  });
});
