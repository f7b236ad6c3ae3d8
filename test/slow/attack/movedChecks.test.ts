import { spawnSync } from 'node:child_process';
import { expect } from 'chai';
import type { MoveDeps } from '../../../src/control/tenants/moveTables.js';
import { moveTenantToCell } from '../../../src/control/tenants/moveToCell.js';
import { createTestTenant } from '../../support/createTestTenant.js';
import { joinDirectory } from '../../../src/db/cells/directory/cells.js';
import {
  migrateDirectory,
  openDirectory,
  type Directory,
} from '../../../src/db/cells/directory/directory.js';
import { runTenantSql } from '../../../src/db/tenants/tenantSql.js';
import { testKeyRing, testLog } from '../../support/testConfig.js';
import { createTestDatabase, type TestDatabase } from '../../support/testDatabase.js';
import { setTraps, sprungTraps, trappedRows, trappedSchema } from '../../support/trappedSchema.js';

const HAS_PG_DUMP = spawnSync('pg_dump', ['--version']).status === 0;

if (HAS_PG_DUMP) {
  describe('attack: a tenant lets the service of another cell run its functions, by being moved there', function () {
    let databases: TestDatabase[];
    let directory: Directory;
    let deps: MoveDeps;
    before(async () => {
      databases = await Promise.all([1, 2, 3].map(() => createTestDatabase({ postgres: 15 })));
      const [source, target, third] = databases as [TestDatabase, TestDatabase, TestDatabase];
      directory = openDirectory(third.url, 'test', testLog);
      await migrateDirectory(directory);
      for (const [idRange, { database }] of [source, target].entries()) {
        const cell = { name: `cell${idRange}`, baseUrl: `http://cell${idRange}.example`, idRange };
        await joinDirectory(directory, database.pool, cell);
        await setTraps(database.pool);
      }
      deps = { directory, source, target, keyRing: testKeyRing };
    });
    after(async () => {
      await directory.close();
      await Promise.all(databases.map((one) => one.drop()));
    });

    it('which run as the tenant alone, at both ends, and every row arrives', async () => {
      const { database } = deps.source;
      const { tenantid, schema } = await createTestTenant(database.pool, {
        name: 'mallory',
        rootLogin: 'root',
        rootPassword: 'correct horse',
      });
      await runTenantSql(database, { tenantid, sql: trappedSchema(schema) + trappedRows(schema) });
      await moveTenantToCell(deps, tenantid, 'cell1');
      for (const end of [deps.source, deps.target]) {
        const role = (await end.database.tenants.names()).tenant(tenantid);
        const sprung = await sprungTraps(end.database.pool);
        expect(sprung.length, 'traps').to.be.above(10);
        expect(sprung.filter(({ login, role: as }) => login !== role || as !== role)).to.deep.equal([]);
      }
      const { rows } = await deps.target.database.pool.query(
        `select (select count(*)::int from ${schema}.item) as items, (select count(*)::int from ${schema}.keyless) as keyless,
           (select last_value::int from ${schema}.counter) as counter, (select count(*)::int from ${schema}.kept_items) as kept,
           (select count(*)::int from pg_constraint where not convalidated) as unchecked`,
      );
      expect(rows).to.deep.equal([{ items: 2, keyless: 1, counter: 1, kept: 2, unchecked: 0 }]);
    });

    it('nor has the target drop a schema of the same name that is not the tenant’s', async () => {
      const { database } = deps.source;
      const { tenantid } = await createTestTenant(database.pool, {
        name: 'namesake',
        rootLogin: 'root',
        rootPassword: 'correct horse',
        schema: 'shop',
      });
      const { pool } = deps.target.database;
      await pool.query('create schema shop; create table shop.kept (id int)');
      const refusal: unknown = await moveTenantToCell(deps, tenantid, 'cell1').catch(
        (error: unknown) => error,
      );
      expect(refusal).to.have.property('message').that.contains('already has a schema "shop"');
      await pool.query('select from shop.kept');
    });
  });
}
