import { expect } from 'chai';
import pg from 'pg';
import { deleteTenant } from '../../src/control/tenants/tenants.js';
import { openShop, type Shop } from '../graphql/support/shop.js';
import { inTransaction } from '../../src/db/pool/inTransaction.js';

/** The owner of a schema may add code at any time, in sessions that nothing ends. */
describe("attack: a tenant's schema that another role has made anew", () => {
  let shop: Shop;
  let app: pg.Client;
  before(async () => {
    shop = await openShop('create table notes (id int primary key)');
    const { database, url } = shop.test;
    const { rows } = await database.pool.query<{ name: string; role: string }>(
      `select current_database() as name, 'app_' || oid as role from pg_database where datname = current_database()`,
    );
    const { name, role } = rows[0]!;
    const run = (sql: string): Promise<unknown> => database.pool.query(sql as 'select 1');
    await run(
      `create role ${role} login password 'app'; grant connect, create on database ${name} to ${role}`,
    );
    const address = new URL(url);
    address.username = role;
    address.password = 'app';
    app = new pg.Client({ connectionString: address.href });
    await app.connect();
  });
  after(async () => {
    await app.end();
    await shop.close();
  });

  it('takes dedicated connections', async () => {
    const { database } = shop.test;
    const { tenantid, schema } = shop.tenant;
    const role = (await database.tenants.names()).tenant(tenantid);
    await database.tenants.settle(tenantid, schema);
    expect(database.tenants.loginOf(tenantid)).to.equal('shared');
    await shop.sql(`drop schema ${schema} cascade`);
    await app.query(`create schema ${schema}; create table ${schema}.notes (id int primary key);
      grant usage on schema ${schema} to ${role}; grant select, insert on ${schema}.notes to ${role}`);
    await database.tenants.settle(tenantid, schema);
    expect(database.tenants.loginOf(tenantid)).to.equal(tenantid);
  });

  it('is not dropped with the tenant', async () => {
    const { database } = shop.test;
    const { tenantid, schema } = shop.tenant;
    const { rows } = await app.query<{ role: string }>('select current_user as role');
    // As the walk-through of adoption asks for.
    await database.pool.query(`grant ${rows[0]!.role} to current_user` as 'select 1');
    await inTransaction(database.pool, (tx) => deleteTenant(tx, tenantid));
    await app.query(`select from ${schema}.notes`);
  });
});
