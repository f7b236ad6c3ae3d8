import { expect } from 'chai';
import { createTestTenant } from '../support/createTestTenant.js';
import { runTenantSql } from '../../src/db/tenants/tenantSql.js';
import { createTestDatabase, type TestDatabase } from '../support/testDatabase.js';

/** Names such as `tenant_1` suggest themselves to applications, too. */
describe("attack: a tenant whose id is in the name of an application's role", () => {
  let test: TestDatabase;
  before(async () => {
    test = await createTestDatabase();
  });
  after(() => test.drop());

  it('gets nothing of what that role owns', async () => {
    const { pool } = test.database;
    const rootPassword = 'correct horse';
    const { tenantid } = await createTestTenant(pool, { name: 'one', rootLogin: 'root', rootPassword });
    // Beyond the ids of other tests: the role belongs to the whole server.
    const given = 800_000 + tenantid;
    await pool.query(`alter sequence rowpost.tenant_tenantid_seq restart with ${given}`);
    const role = `tenant_${given}`;
    await pool.query(
      `create role ${role}; grant ${role} to current_user; create schema app authorization ${role}`,
    );
    try {
      const alike = await createTestTenant(pool, { name: 'two', rootLogin: 'root', rootPassword });
      expect(alike.tenantid).to.equal(given);
      await runTenantSql(test.database, { tenantid: given, sql: 'create table t (id int primary key)' });
      const { rows } = await pool.query<{ owner: string; members: number }>(
        `select nspowner::regrole::text as owner,
           (select count(*)::int from pg_auth_members m join pg_roles r on r.oid = m.member where r.rolname = '${role}') as members
         from pg_namespace where nspname = 'app'`,
      );
      expect(rows).to.deep.equal([{ owner: role, members: 0 }]);
    } finally {
      await pool.query(`drop schema app cascade; drop owned by ${role}; drop role ${role}`);
    }
  });

  it('nor is that role taken for the tenant', async () => {
    const { rows } = await test.database.pool.query<{ tenants: readonly (number | null)[] }>(
      `select array_agg(rowpost_tenant.tenantid_of(role) order by role) as tenants
       from unnest('{rowpost_5_tenant_7,tenant_7,x_rowpost_5_tenant_7}'::name[]) role`,
    );
    expect(rows[0]?.tenants).to.deep.equal([7, null, null]);
  });
});
