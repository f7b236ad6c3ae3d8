import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import pg from 'pg';
import { openKnex } from '../../src/db/schema/openKnex.js';
import { createTestDatabase, type TestDatabase } from '../support/testDatabase.js';
import { contractOf } from './contract.js';

const must = contractOf('knex');

describe('private parts of knex', () => {
  let test: TestDatabase;
  let directory: string;
  let pool: pg.Pool;
  before(async () => {
    test = await createTestDatabase();
    pool = new pg.Pool({ connectionString: test.url });
    directory = await mkdtemp(path.join(os.tmpdir(), 'rowpost-knex-'));
  });
  after(async () => {
    await pool.end();
    await rm(directory, { recursive: true });
    await test.drop();
  });

  it('results of `migrate.list()` and `migrate.up()`, errors', async () => {
    const knex = openKnex(pool);
    const config = { directory, schemaName: 'rowpost', tableName: 'probe', loadExtensions: ['.js'] };
    const migration = (body: string): string =>
      `exports.up = async (knex) => { ${body} }; exports.down = () => undefined;`;
    try {
      await writeFile(path.join(directory, 'package.json'), '{"type": "commonjs"}');
      await writeFile(path.join(directory, '1.js'), migration(''));
      const listed = JSON.stringify(await knex.migrate.list(config));
      must(
        /^\[\[\],\[\{"file":"1\.js",/.test(listed),
        `migrate.list() no longer resolves to what is applied and the files of what is pending: ${listed}`,
      );
      const applied = JSON.stringify(await knex.migrate.up(config));
      must(applied === '[1,["1.js"]]', `migrate.up() no longer resolves to a batch and names: ${applied}`);
      await writeFile(path.join(directory, '2.js'), migration(`throw new Error('no')`));
      const failed: unknown = await knex.migrate.up(config).catch((reason: unknown) => reason);
      must(
        (failed as Error).message === 'no',
        `a migration that fails no longer throws, but ${String(failed)}`,
      );
      await knex.raw('update rowpost.probe_lock set is_locked = 1');
      const error: unknown = await knex.migrate.up(config).catch((reason: unknown) => reason);
      must(
        (error as Error).name === 'MigrationLocked',
        `the error of a lock that is held is no longer a MigrationLocked, but ${String(error)}`,
      );
    } finally {
      await knex.destroy();
    }
  });
});
