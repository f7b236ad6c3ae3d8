import { expect } from 'chai';
import { createTestTenant } from '../../support/createTestTenant.js';
import { PrincipalSource } from '../../../src/db/roles/principal.js';
import { createTestDatabase, type TestDatabase } from '../../support/testDatabase.js';
import { knexOf } from '../../support/knexOf.js';

describe('the principal cache', () => {
  let db: TestDatabase;
  before(async () => {
    db = await createTestDatabase();
  });
  after(() => db.drop());

  it("refreshes one role for a sign-in, and keeps the tenant's others", async () => {
    const { pool } = db.database;
    const knex = knexOf(db.database);
    const credentials = { rootLogin: 'root', rootPassword: 'correct horse' };
    const { tenantid, rootRoleid } = await createTestTenant(pool, { name: 'cached', ...credentials });
    const inserted: { roleid: number }[] = await knex('rowpost.role')
      .insert({ tenantid, parentid: rootRoleid })
      .returning('roleid');
    const { roleid } = inserted[0]!;
    const principals = new PrincipalSource(pool, () => 1_000_000);
    const root = await principals.load(tenantid, rootRoleid);
    const before = await principals.load(tenantid, roleid);

    await knex('rowpost.role')
      .update({ capabilities: ['login'] })
      .where({ tenantid });
    expect(await principals.load(tenantid, roleid)).to.equal(before);
    expect((await principals.reload(tenantid, roleid))?.capabilities).to.deep.equal(['login']);
    expect((await principals.load(tenantid, roleid))?.capabilities).to.deep.equal(['login']);
    expect(await principals.load(tenantid, rootRoleid)).to.equal(root);

    principals.forget(tenantid);
    expect((await principals.load(tenantid, rootRoleid))?.capabilities).to.deep.equal(['login']);
  });
});
