import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import pg from 'pg';
import { openShop, type Shop } from '../../graphql/support/shop.js';

/**
 * Whoever can log in as a tenant can create code at any time, which shared connections would run before anybody looks. PostgreSQL
 * shows a session's role only once it has applied the role's settings.
 */
describe('attack: a login that takes long, until shared connections serve the tenant', () => {
  let shop: Shop;
  before(async () => {
    shop = await openShop('create table notes (id int primary key)');
  });
  after(() => shop.close());

  it('is waited for, or ended', async () => {
    const { database, url } = shop.test;
    const { tenants, pool } = database;
    const { tenantid, schema } = shop.tenant;
    const role = (await tenants.names()).tenant(tenantid);
    await shop.sql(`alter role current_user password 'known';
      do $$ begin execute 'alter role current_user set search_path = a' || repeat(', a', 16000000); end $$`);
    await pool.query(`alter role ${role} login` as 'select 1');
    const address = new URL(url);
    [address.username, address.password] = [role, 'known'];
    const client = new pg.Client({ connectionString: address.href });
    client.on('error', () => undefined);
    const connected = client.connect();
    await delay(200);
    await tenants.settle(tenantid, schema);
    const login = tenants.loginOf(tenantid);
    const isOpen = await connected
      .then(() => client.query(`create function ${schema}.f() returns int return 1`))
      .then(
        () => true,
        () => false,
      );
    expect([login, isOpen]).to.not.deep.equal(['shared', true]);
    await client.end().catch(() => undefined);
  });
});
