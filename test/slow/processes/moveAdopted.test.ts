import { spawnSync } from 'node:child_process';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { expect } from 'chai';
import { adoptTenant } from '../../../src/control/tenants/tenants.js';
import { requireTenantInThisCell } from '../../../src/db/cells/placement.js';
import { openRecipes, type Recipes } from '../../processes/recipes.js';
import { startProcess, type RowpostProcess } from '../../support/rowpostProcess.js';
import { createTestDatabase, type TestDatabase } from '../../support/testDatabase.js';
import { waitFor } from '../../support/waitFor.js';

const HAS_PSQL = spawnSync('psql', ['--version']).status === 0;

if (HAS_PSQL) {
  describe('a tenant with an adopted schema moves to another cell by hand', () => {
    let databases: readonly [TestDatabase, TestDatabase, TestDatabase];
    let recipes: Recipes;
    let relay: RowpostProcess;
    let tenantid: number;
    let env: Readonly<Record<string, string>>;
    let there: typeof env;
    const run = async (name: string, where: typeof env): Promise<void> => {
      const { code, output } = await recipes.run([name], where);
      expect(code, output).to.equal(0);
    };

    before(async () => {
      databases = [await createTestDatabase(), await createTestDatabase(), await createTestDatabase()];
      const [source, target, third] = databases;
      recipes = await openRecipes('docs/how-to/cells.md');
      env = {
        DATABASE_URL: source.url,
        DIRECTORY_URL: third.url,
        CELL: 'cell1',
        CELL_URL: 'http://cell1.example',
        STORAGE_URL: `file:${path.join(recipes.folder, 'files')}`,
        PXADMIN_PASSWORD: 'pxadmin-password',
        MAIL_TRANSPORT: 'mailbox',
        SCHEMA: 'crm',
      };
      there = { ...env, DATABASE_URL: target.url, CELL: 'cell2', CELL_URL: 'http://cell2.example' };
      await run('first cell', env);
      await run('further cell', there);
      // The application has moved its own.
      for (const { database } of [source, target])
        await database.pool.query('create schema crm; create table crm.contact (id int primary key)');
      const { pool } = source.database;
      ({ tenantid } = await adoptTenant(pool, {
        name: 'crm',
        rootLogin: 'root',
        rootPassword: 'correct horse',
        schema: 'crm',
      }));
      await pool.query(
        `insert into rowpost.file (storagekey, tenantid, target, key, filenum, filename, mimetype, size, sha256, objectkey, roleid)
         select gen_random_uuid(), tenantid, 'contact', '{"id": 1}', 1, 'a.txt', 'text/plain', 1, '\\x00', tenantid || '/0a/0a000000-0000-4000-8000-000000000000', root_roleid
         from rowpost.tenant where tenantid = $1`,
        [tenantid],
      );
      env = { ...env, TENANT: String(tenantid) };
      there = { ...there, TENANT: String(tenantid) };
      relay = await startProcess(['relay'], env);
    });
    after(async () => {
      await relay.kill('SIGKILL');
      await Promise.all(databases.map((one) => one.drop()));
      await rm(recipes.folder, { recursive: true });
    });

    it('with its settings and files, and the old cell says where it is', async () => {
      const [source, target] = databases;
      await run('adopted', env);
      await run('adopted there', there);
      await waitFor('the old cell to know', async () => {
        const { rows } = await source.database.pool.query(
          'select from rowpost.cell_tenant where tenantid = $1',
          [tenantid],
        );
        return rows.length > 0;
      });
      await run('adopted left', env);

      const { rows } = await target.database.pool.query(
        `select t.schema, t.adopted, t.suspended, (select count(*)::int from rowpost.file f where f.tenantid = t.tenantid) as files
         from rowpost.tenant t where tenantid = $1`,
        [tenantid],
      );
      expect(rows).to.deep.equal([{ schema: 'crm', adopted: true, suspended: false, files: 1 }]);
      await requireTenantInThisCell(target.database.pool, tenantid);

      const refusal: unknown = await requireTenantInThisCell(source.database.pool, tenantid).catch(
        (error: unknown) => error,
      );
      expect(refusal).to.have.property('code', 'TENANT_MOVED');
      expect((refusal as Error).message).to.contain('http://cell2.example');
      // A file without its tenant would be swept, in the storage of all cells.
      for (const table of ['file', 'file_object']) {
        const left = await source.database.pool.query(`select from rowpost.${table}`);
        expect(left.rows, table).to.have.length(0);
      }
      await source.database.pool.query('select from crm.contact');
    });
  });
}
