import { expect } from 'chai';
import { otherWriters } from '../../../../src/db/cells/moving/movedTables.js';
import { runTenantSql } from '../../../../src/db/tenants/tenantSql.js';
import { createTestTenant } from '../../../support/createTestTenant.js';
import { createTestDatabase, type TestDatabase } from '../../../support/testDatabase.js';

/** Nothing would stop these once the tables are copied: what they wrote would be lost. */
const GRANTS = {
  'all columns': 'grant insert on note to',
  'single columns': 'grant select (id), update (body) on note to',
  'columns of a view': 'grant insert (body) on notes to',
  'columns of a partition': 'grant update (id) on part_1 to',
};

describe('roles that may write to the tables of a tenant that moves', () => {
  let test: TestDatabase;
  before(async () => (test = await createTestDatabase()));
  after(() => test.drop());

  for (const [what, grant] of Object.entries(GRANTS)) {
    it(`are found by their grants on ${what}`, async () => {
      const { pool, tenants } = test.database;
      const root = { rootLogin: 'root', rootPassword: 'correct horse battery' };
      const { tenantid, schema } = await createTestTenant(pool, { ...root, name: what });
      const sql = `
        create table note (id int primary key, body text); create view notes as select * from note;
        create table part (id int) partition by list (id); create table part_1 partition of part for values in (1);
        grant select (body) on note to public`;
      await runTenantSql(test.database, { tenantid, sql });
      const role = (await tenants.names()).tenant(tenantid);
      expect(await otherWriters(pool, { schema, role })).to.deep.equal([]);
      await runTenantSql(test.database, { tenantid, sql: `${grant} public` });
      expect(await otherWriters(pool, { schema, role })).to.deep.equal(['PUBLIC']);
    });
  }
});
