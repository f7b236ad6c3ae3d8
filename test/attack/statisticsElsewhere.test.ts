import { expect } from 'chai';
import type { CreatedTenant } from '../../src/control/tenants/tenants.js';
import { createTestTenant } from '../support/createTestTenant.js';
import { runTenantSql } from '../../src/db/tenants/tenantSql.js';
import { openShop, type Shop } from '../graphql/support/shop.js';

/**
 * Statistics on a table may be in any schema, with expressions that call its functions. The planner evaluates what is constant in
 * them for every query of the table, as whoever sends it.
 */
describe('attack: statistics in the schema of another tenant', () => {
  let shop: Shop;
  let accomplice: CreatedTenant;
  before(async () => {
    shop = await openShop('create table notes (id int primary key, body text)');
    accomplice = await createTestTenant(shop.test.database.pool, {
      name: 'accomplice',
      rootLogin: 'root',
      rootPassword: 'correct horse',
    });
    await runTenantSql(shop.test.database, {
      tenantid: accomplice.tenantid,
      sql: `grant usage, create on schema ${accomplice.schema} to public;
        create function who(int) returns int immutable language plpgsql as $$ begin
          raise exception 'run by %', session_user; end $$;`,
    });
  });
  after(() => shop.close());

  for (const expressions of ['(who(1) + id), body', '(who(1) + id)']) {
    it(`with ${expressions} require dedicated connections`, async () => {
      const { database } = shop.test;
      const { tenantid, schema } = shop.tenant;
      const others = accomplice.schema;
      await shop.sql(
        `create statistics ${others}.s on ${expressions.replace('who', `${others}.who`)} from notes`,
      );
      await database.tenants.settle(tenantid, schema);
      expect(database.tenants.loginOf(tenantid)).to.equal(tenantid);
      const reply = await shop.ask('{ notes { id } }');
      const names = await database.tenants.names();
      expect(reply.errors?.[0]?.message).to.equal(`run by ${names.tenant(tenantid)}`);
      await shop.sql(`drop statistics ${others}.s`);
      await database.tenants.settle(tenantid, schema);
      expect(database.tenants.loginOf(tenantid)).to.equal('shared');
    });
  }
});
