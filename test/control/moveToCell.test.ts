import { expect } from 'chai';
import { moveTenantToCell, type MoveDeps } from '../../src/control/tenants/moveToCell.js';
import { createTestTenant } from '../support/createTestTenant.js';
import { joinDirectory } from '../../src/db/cells/directory/cells.js';
import { migrateDirectory, openDirectory, type Directory } from '../../src/db/cells/directory/directory.js';
import { readOpenMove } from '../../src/db/cells/directory/moves.js';
import { runTenantSql } from '../../src/db/tenants/tenantSql.js';
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

  const refusalOf = async (tenantid: number): Promise<string> => {
    const refusal: unknown = await moveTenantToCell(deps, tenantid, 'cell1').catch((error: unknown) => error);
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
});
