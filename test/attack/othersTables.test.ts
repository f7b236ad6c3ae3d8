import { expect } from 'chai';
import type { CreatedTenant } from '../../src/control/tenants/tenants.js';
import { createTestTenant } from '../support/createTestTenant.js';
import { runTenantSql } from '../../src/db/tenants/tenantSql.js';
import { openShop, type Shop } from '../graphql/support/shop.js';

/** Their owner may add triggers and checks at any time, which a shared connection would run before the schema is read again. */
describe('attack: another role owns something in the schema of a tenant without code', () => {
  let shop: Shop;
  let accomplice: CreatedTenant;
  let role: string;
  before(async () => {
    shop = await openShop('create table notes (id int primary key)');
    const { database } = shop.test;
    const named = { name: 'accomplice', rootLogin: 'root', rootPassword: 'correct horse' };
    accomplice = await createTestTenant(database.pool, named);
    role = (await database.tenants.names()).tenant(accomplice.tenantid);
    await shop.sql(`grant usage on schema ${shop.tenant.schema} to ${role}`);
  });
  after(() => shop.close());

  const settled = async (): Promise<unknown> => {
    const { tenantid, schema } = shop.tenant;
    await shop.test.database.tenants.settle(tenantid, schema);
    return shop.test.database.tenants.loginOf(tenantid);
  };
  const may = (verb: 'grant' | 'revoke'): Promise<void> =>
    shop.sql(
      `${verb} create on schema ${shop.tenant.schema} ${verb === 'grant' ? 'to' : 'from'} ${role}, public`,
    );

  it('leave to create something requires dedicated connections', async () => {
    expect(await settled()).to.equal('shared');
    await may('grant');
    expect(await settled()).to.equal(shop.tenant.tenantid);
    await may('revoke');
    expect(await settled()).to.equal('shared');
  });

  for (const [what, create, drop] of [
    ['a table', 'create table $.gift (id int primary key)', 'drop table $.gift'],
    ['a view', 'create view $.gift as select 1 as id', 'drop view $.gift'],
    ['a type', 'create domain $.gift as text', 'drop domain $.gift'],
  ] as const) {
    it(`${what} requires dedicated connections`, async () => {
      const run = (sql: string): Promise<unknown> =>
        runTenantSql(shop.test.database, {
          tenantid: accomplice.tenantid,
          sql: sql.replace('$', shop.tenant.schema),
        });
      await may('grant');
      await run(create);
      await may('revoke');
      expect(await settled()).to.equal(shop.tenant.tenantid);
      await run(drop);
      expect(await settled()).to.equal('shared');
    });
  }
});
