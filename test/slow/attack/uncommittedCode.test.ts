import { expect } from 'chai';
import pg from 'pg';
import { createTestTenant } from '../../support/createTestTenant.js';
import { runTenantSql } from '../../../src/db/tenants/tenantSql.js';
import { openShop, type Shop } from '../../graphql/support/shop.js';

/** Code that an open transaction, of the tenant's own login or of another, has made and not committed when the schema is checked. */
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

  for (const [what, right, create] of [
    [
      'a trigger',
      'trigger on notes',
      'create trigger late before insert on $.notes for each row execute function touch()',
    ],
    ['a reference', 'references on notes', 'create table late (id int references $.notes on delete cascade)'],
    ['a table', 'create on schema $', 'create table $.late (id int)'],
  ] as const) {
    it(`of another tenant, ${what}, does so too, although it has lost its rights`, async () => {
      const { database } = shop.test;
      const { tenantid, schema } = shop.tenant;
      const other = await createTestTenant(database.pool, {
        name: `with ${what}`,
        rootLogin: 'root',
        rootPassword: 'correct horse',
      });
      await runTenantSql(database, {
        tenantid: other.tenantid,
        sql: 'create function touch() returns trigger language plpgsql as $$ begin return new; end $$',
      });
      const role = (await database.tenants.names()).tenant(other.tenantid);
      const of = (text: string): string => text.replace('$', schema);
      // Then the grant changes nothing in pg_class that the trigger changes too.
      await shop.sql('alter table notes add constraint self foreign key (id) references notes');
      await shop.sql(`grant usage on schema ${schema} to ${role}; grant ${of(right)} to ${role}`);
      const session = await database.tenants.connectDirectly(other.tenantid);
      try {
        await session.query(`begin; set local search_path = ${other.schema}`);
        await session.query(of(create));
        await shop.sql(`revoke ${of(right)} from ${role}`);
        await database.tenants.settle(tenantid, schema);
        expect(database.tenants.loginOf(tenantid)).to.equal(tenantid);
        await session.query('rollback');
        await database.tenants.settle(tenantid, schema);
        expect(database.tenants.loginOf(tenantid)).to.equal('shared');
      } finally {
        await session.end();
        await shop.sql('alter table notes drop constraint self');
      }
    });
  }
});
