import { expect } from 'chai';
import type { Pool } from 'pg';
import type { MoveDeps } from '../../src/control/tenants/moveTables.js';
import { followTenant, moveTenantToCell } from '../../src/control/tenants/moveToCell.js';
import { adoptTenant, deleteTenant } from '../../src/control/tenants/tenants.js';
import { createTestTenant } from '../support/createTestTenant.js';
import { joinDirectory } from '../../src/db/cells/directory/cells.js';
import { migrateDirectory, openDirectory, type Directory } from '../../src/db/cells/directory/directory.js';
import { readOpenMove } from '../../src/db/cells/directory/moves.js';
import { inTransaction } from '../../src/db/pool/inTransaction.js';
import { requireDroppable } from '../../src/db/tenants/tenantStorage.js';
import { runTenantSql } from '../../src/db/tenants/tenantSql.js';
import { startEmbeddedPostgres } from '../../src/embedded/postgres.js';
import type { AppError } from '../../src/foundation/errors.js';
import { copyPreparedCluster, PREPARED_TEMPLATE, throwawayDataDir } from '../support/preparedCluster.js';
import { runSql } from '../support/runSql.js';
import { databaseUrl, openTestDatabase } from '../support/templateDatabase.js';
import { testKeyRing, testLog } from '../support/testConfig.js';
import { createTestDatabase, type TestDatabase } from '../support/testDatabase.js';

describe('a tenant that can not be moved to another cell', () => {
  let databases: TestDatabase[];
  let directory: Directory;
  let deps: MoveDeps;
  before(async () => {
    databases = await Promise.all([createTestDatabase(), createTestDatabase(), createTestDatabase()]);
    const [source, target, directoryDatabase] = databases as [TestDatabase, TestDatabase, TestDatabase];
    directory = openDirectory(directoryDatabase.url, 'test', testLog);
    await migrateDirectory(directory);
    for (const [idRange, { database }] of [source, target].entries()) {
      const cell = { name: `cell${idRange}`, baseUrl: `http://cell${idRange}.example`, idRange };
      await joinDirectory(directory, database.pool, cell);
    }
    deps = { directory, source, target, keyRing: testKeyRing };
  });
  after(async () => {
    await directory.close();
    await Promise.all(databases.map((one) => one.drop()));
  });

  const refusalOf = async (
    tenantid: number,
    move: typeof followTenant | typeof moveTenantToCell = moveTenantToCell,
  ): Promise<string> => {
    const refusal: unknown = await move(deps, tenantid, 'cell1').catch((error: unknown) => error);
    expect(refusal).to.have.property('name', 'UsageError');
    expect(await readOpenMove(directory, tenantid), 'nothing was begun').to.equal(undefined);
    return (refusal as Error).message;
  };

  it('because others own or write its tables is told so before anything is copied', async () => {
    const { database } = deps.source;
    const { tenantid, schema } = await createTestTenant(database.pool, {
      name: 'shop',
      rootLogin: 'root',
      rootPassword: 'correct horse',
    });
    await runTenantSql(database, { tenantid, sql: 'create table own (id int primary key)' });
    await database.pool.query(
      `create table ${schema}.theirs (id serial primary key); create view ${schema}.listed as select 1 as one`,
    );
    const role = (await database.tenants.names()).tenant(tenantid);
    const refusal = await refusalOf(tenantid);
    expect(refusal).to.match(/: listed \(of \w+\), theirs \(of \w+\), theirs_id_seq \(of \w+\); give it to/);
    expect(refusal).to.include(role);
    await database.pool.query(
      `alter table ${schema}.theirs owner to ${role}; alter view ${schema}.listed owner to ${role};
       grant insert on ${schema}.own to public`,
    );
    expect(await refusalOf(tenantid)).to.include('PUBLIC may write');
  });

  it('because it has more objects than PostgreSQL can lock is told so', async () => {
    const { database } = deps.source;
    const named = { name: 'large', rootLogin: 'root', rootPassword: 'correct horse' };
    const { tenantid } = await createTestTenant(database.pool, named);
    await runTenantSql(database, {
      tenantid,
      sql: 'select count(lo_create(0)) from generate_series(1, 30000)',
    });
    for (const move of [moveTenantToCell, followTenant]) {
      const refusal: unknown = await move(deps, tenantid, 'cell1').catch((error: unknown) => error);
      expect(refusal).to.have.property('code', 'SCHEMA_TOO_LARGE');
      expect(await readOpenMove(directory, tenantid), 'nothing was begun').to.equal(undefined);
    }
  });

  it('because it has more objects than PostgreSQL can lock in the target is told so, before its writes are held', async () => {
    const { database } = deps.source;
    const named = { name: 'many', rootLogin: 'root', rootPassword: 'correct horse' };
    const { tenantid } = await createTestTenant(database.pool, named);
    const dataDir = await throwawayDataDir();
    await copyPreparedCluster(dataDir, 18, undefined);
    const server = await startEmbeddedPostgres({
      dataDir,
      throwaway: true,
      settings: ['max_connections=40', 'max_locks_per_transaction=10'],
      say: (line) => process.stderr.write(`${line}\n`),
    });
    await runSql(server.url, `create database small template ${PREPARED_TEMPLATE}`);
    const url = databaseUrl(server.url, 'small');
    const target = { url, database: openTestDatabase(url) };
    try {
      const cell = { name: 'cell2', baseUrl: 'http://cell2.example', idRange: 2 };
      await joinDirectory(directory, target.database.pool, cell);
      await runTenantSql(database, {
        tenantid,
        sql: `do $$ begin for i in 1..200 loop
          execute format('create table t%s (id int primary key, name text)', i); end loop; end $$`,
      });
      const refusal: unknown = await moveTenantToCell({ ...deps, target }, tenantid, 'cell2').catch(
        (error: unknown) => error,
      );
      expect(refusal).to.have.property('code', 'SCHEMA_TOO_LARGE');
      expect((refusal as Error).message).to.match(/in the target, and has 400 for everybody\./);
      expect(await readOpenMove(directory, tenantid), 'nothing was begun').to.equal(undefined);

      const there = await createTestTenant(target.database.pool, named);
      await runTenantSql(target.database, {
        tenantid: there.tenantid,
        sql: `commit; do $$ begin for i in 1..100 loop
          execute format('create table t%s (id int primary key, name text)', i); commit; end loop; end $$`,
      });
      const role = (await target.database.tenants.names()).tenant(there.tenantid);
      const hintOf = (to?: Pool): Promise<unknown> =>
        requireDroppable(target.database.pool, role, there.schema, to).catch(
          (error: unknown) => (error as AppError).hint,
        );
      expect(await hintOf(), 'deleted').to.match(/^Raise max_locks_per_transaction, or drop its objects/);
      expect(await hintOf(database.pool), 'moved').to.equal('Raise max_locks_per_transaction.');
    } finally {
      await target.database.close();
      await server.stop();
    }
  });

  it('because its schema is adopted is told what to do instead', async () => {
    const { database } = deps.source;
    await database.pool.query('create schema crm; create table crm.contact (id int primary key)');
    const { tenantid } = await adoptTenant(database.pool, {
      name: 'crm',
      rootLogin: 'root',
      rootPassword: 'correct horse',
      schema: 'crm',
    });
    for (const move of [moveTenantToCell, followTenant]) {
      expect(await refusalOf(tenantid, move)).to.match(/belongs to an application.*docs\/how-to\/cells\.md/);
    }
  });

  it('by following its tables is told why, and nothing is left in the target', async () => {
    const { database } = deps.source;
    const { tenantid, schema } = await createTestTenant(database.pool, {
      name: 'followed',
      rootLogin: 'root',
      rootPassword: 'correct horse',
    });
    await runTenantSql(database, { tenantid, sql: 'create view code as select 1 as one' });
    expect(await refusalOf(tenantid, followTenant)).to.include('has code of its own (view)');
    await runTenantSql(database, {
      tenantid,
      sql: `drop view code; create table keyless (id int); create unlogged table loose (id int primary key);
        create table whole (id int, tags text[]); alter table whole replica identity full;
        create domain spots as point[];
        create table spotted (id int, at spots); alter table spotted replica identity full`,
    });
    const refusal = await refusalOf(tenantid, followTenant);
    expect(refusal)
      .to.include('keyless has neither a primary key')
      .and.to.include('loose is not logged')
      .and.to.include('spotted has all columns as its replica identity, one of a type without equality')
      .and.not.to.include('whole');
    expect(refusal).to.include('the source has wal_level ');
    const { rows } = await deps.target.database.pool.query(
      'select from pg_namespace where nspname = $1::text::name',
      [schema],
    );
    expect(rows).to.have.length(0);
  });

  it('is not deleted while another cell follows its tables', async () => {
    const { pool } = deps.source.database;
    const { tenantid } = await createTestTenant(pool, {
      name: 'deleted',
      rootLogin: 'root',
      rootPassword: 'correct horse',
    });
    await pool.query(`create publication rowpost_move_${tenantid}`);
    const refusal: unknown = await inTransaction(pool, (tx) => deleteTenant(tx, tenantid)).catch(
      (error: unknown) => error,
    );
    expect(refusal).to.have.property('code', 'TENANT_MOVING');
    await pool.query(`drop publication rowpost_move_${tenantid}`);
    await inTransaction(pool, (tx) => deleteTenant(tx, tenantid));
  });
});
