import { expect } from 'chai';
import type { CreatedTenant } from '../../src/control/tenants/tenants.js';
import { createTestTenant } from '../support/createTestTenant.js';
import type { RoleNames } from '../../src/db/isolation/roleNames.js';
import { openShop, type Shop } from '../graphql/support/shop.js';

/** A member of a tenant's role may create code in its schema at any time, and the shared login would run it. */
describe("attack: memberships of a tenant's role that others granted", () => {
  let shop: Shop;
  let accomplice: CreatedTenant;
  let names: RoleNames;
  before(async () => {
    shop = await openShop('create table notes (id int primary key)');
    const { database } = shop.test;
    const named = { name: 'accomplice', rootLogin: 'root', rootPassword: 'correct horse' };
    accomplice = await createTestTenant(database.pool, named);
    names = await database.tenants.names();
  });
  after(() => shop.close());

  const settle = async (): Promise<unknown> => {
    const { tenants } = shop.test.database;
    await tenants.settle(shop.tenant.tenantid, shop.tenant.schema);
    return tenants.loginOf(shop.tenant.tenantid);
  };
  const run = (sql: string): Promise<unknown> => shop.test.database.pool.query(sql as 'select 1');
  const role = (): string => names.tenant(shop.tenant.tenantid);

  it('to another tenant require dedicated connections', async () => {
    expect(await settle()).to.equal('shared');
    await run(`grant ${role()} to ${names.tenant(accomplice.tenantid)}`);
    expect(await settle()).to.equal(shop.tenant.tenantid);
    await run(`revoke ${role()} from ${names.tenant(accomplice.tenantid)}`);
    expect(await settle()).to.equal('shared');
  });

  it('to the shared login stop a change of the schema: the service can not revoke them', async () => {
    const other = `${names.shared}_other`;
    await run(`create role ${other}; grant ${role()} to ${other} with admin option; grant ${other} to current_user;
      set role ${other}; grant ${role()} to ${names.shared}; reset role`);
    const refused = await shop.sql('create table more (id int)').then(
      () => 'nothing',
      (error: unknown) => (error as Error).message,
    );
    const { rows } = await shop.test.database.pool.query<{ version: number }>(
      `select current_setting('server_version_num')::int as version`,
    );
    // Before, it can revoke any.
    if (rows[0]!.version < 160_000) expect(refused).to.equal('nothing');
    else
      expect(refused).to.match(
        /_other made ".*_shared" a member of ".*", which has to end: as .*_other, revoke/,
      );
    await run(`revoke ${role()} from ${other} cascade; drop role ${other}`);
    await shop.sql('create table more (id int)');
    expect(await settle()).to.equal('shared');
  });
});
