import { expect } from 'chai';
import { ensureInstallation } from '../../src/control/tenants/installation.js';
import { deleteTenant } from '../../src/control/tenants/tenants.js';
import { createTestTenant } from '../support/createTestTenant.js';
import { runTenantSql } from '../../src/db/tenants/tenantSql.js';
import type { Database } from '../../src/db/pool/database.js';
import { AppError } from '../../src/foundation/errors.js';
import { createTestDatabase, type TestDatabase } from '../support/testDatabase.js';
import { inTransaction } from '../../src/db/pool/inTransaction.js';

// The test server's role is what the documentation asks of DATABASE_URL: CREATEROLE and no more.
describe('tenant storage', () => {
  let testDatabase: TestDatabase;
  let database: Database;

  before(async () => {
    testDatabase = await createTestDatabase();
    database = testDatabase.database;
  });
  after(() => testDatabase.drop());

  const tenant = (name: string): ReturnType<typeof createTestTenant> =>
    createTestTenant(database.pool, { name, rootLogin: 'root', rootPassword: 'correct horse' });

  it('creates the installation once, and only with a password', async () => {
    expect(await ensureInstallation(database.pool, undefined)).to.equal('password-missing');
    expect(await ensureInstallation(database.pool, 'installation secret')).to.equal('created');
    expect(await ensureInstallation(database.pool, 'installation other')).to.equal('exists');
    expect(await ensureInstallation(database.pool, undefined)).to.equal('exists');
  });

  it("runs scripts as the tenant's role in its schema, even after a COMMIT", async () => {
    const { tenantid, schema } = await tenant('scripts');
    const script = 'create table a (id int primary key); commit; create table b (id int primary key)';
    expect(await runTenantSql(database, { tenantid, sql: script })).to.deep.equal({ schema });
    const role = (await database.tenants.names()).tenant(tenantid);
    const { rows } = await database.pool.query(
      'select tablename, tableowner from pg_tables where schemaname = $1 order by 1',
      [schema],
    );
    expect(rows).to.deep.equal([
      { tablename: 'a', tableowner: role },
      { tablename: 'b', tableowner: role },
    ]);
    const after = await database.pool.query<{ role: string }>(`select current_setting('role') as role`);
    expect(after.rows[0]?.role).to.equal('none');
  });

  it('does not blame the script when another transaction holds the table', async () => {
    const { tenantid, schema } = await tenant('locked');
    await runTenantSql(database, { tenantid, sql: 'create table held (id int)' });
    const sql = "set lock_timeout = '50ms'; alter table held add column name text";
    const error: unknown = await inTransaction(database.pool, async (holder) => {
      await holder.query(`lock table ${schema}.held in access share mode`);
      return runTenantSql(database, { tenantid, sql }).catch((reason: unknown) => reason);
    });
    expect(error).to.be.instanceOf(AppError);
    expect(error).to.deep.include({ code: 'TENANT_SQL_FAILED', details: { sqlstate: '55P03' } });
    expect((error as AppError).hint).to.match(/^Nothing is wrong with the script: another transaction/);
  });

  it('reports where a script fails, and rolls it back', async () => {
    const { tenantid, schema } = await tenant('mistakes');
    const script = 'create table kept (id int);\n  create tabel typo ()';
    const error: unknown = await runTenantSql(database, { tenantid, sql: script }).catch(
      (reason: unknown) => reason,
    );
    expect(error).to.be.instanceOf(AppError);
    expect(error).to.deep.include({
      code: 'TENANT_SQL_FAILED',
      details: { sqlstate: '42601', line: 2, column: 10 },
    });
    const { rows } = await database.pool.query('select 1 from pg_tables where schemaname = $1', [schema]);
    expect(rows).to.deep.equal([]);
    const unknown: unknown = await runTenantSql(database, { tenantid: 999_999, sql: '' }).catch(
      (reason: unknown) => reason,
    );
    expect(unknown).to.have.property('code', 'TENANT_NOT_FOUND');
  });

  it('isolates tenants from each other and from the control schema', async () => {
    const [mine, theirs] = [await tenant('mine'), await tenant('theirs')];
    await runTenantSql(database, { tenantid: theirs.tenantid, sql: 'create table secret (id int)' });
    const attempts = [
      `select * from ${theirs.schema}.secret`,
      `create table ${theirs.schema}.mine (id int)`,
      'select * from rowpost.role',
      `insert into rowpost.outbox (tenantid, roleid, operation, target, key) values (1, 1, 'insert', 't', '{}')`,
      'create schema another',
    ];
    for (const sql of attempts) {
      const error: unknown = await runTenantSql(database, { tenantid: mine.tenantid, sql }).catch(
        (reason: unknown) => reason,
      );
      expect(error, sql).to.be.instanceOf(AppError);
      expect((error as AppError).details['sqlstate'], sql).to.equal('42501');
    }
  });

  it('creates several concurrently, and removes one completely', async () => {
    const made = await Promise.all(['one', 'two', 'three'].map(tenant));
    expect(new Set(made.map(({ schema }) => schema)).size).to.equal(3);
    const gone = made[0]!;
    await runTenantSql(database, { tenantid: gone.tenantid, sql: 'create table t (id int)' });
    await inTransaction(database.pool, (tx) => deleteTenant(tx, gone.tenantid));
    const { rows } = await database.pool.query('select 1 from pg_namespace where nspname = $1', [
      gone.schema,
    ]);
    expect(rows).to.deep.equal([]);
    const error: unknown = await inTransaction(database.pool, (tx) => deleteTenant(tx, gone.tenantid)).catch(
      (reason: unknown) => reason,
    );
    expect(error).to.have.property('code', 'TENANT_NOT_FOUND');
  });
});
