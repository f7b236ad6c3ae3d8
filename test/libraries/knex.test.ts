import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import pg from 'pg';
import { pino } from 'pino';
import { openKnex } from '../../src/db/pool/openKnex.js';
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

  it('`trx.client.acquireConnection()`', async () => {
    await test.database.knex.transaction(async (trx) => {
      const { client } = trx as unknown as {
        readonly client: { acquireConnection?(): Promise<pg.PoolClient> };
      };
      must(typeof client.acquireConnection === 'function', 'trx.client no longer has acquireConnection');
      const connection = await client.acquireConnection!().catch(() => undefined);
      must(connection !== undefined, 'trx.client.acquireConnection() no longer gives a connection');
      const one = await trx.raw<{ rows: unknown[] }>('select pg_backend_pid() as pid');
      const { rows } = await connection!.query('select pg_backend_pid() as pid');
      must(
        JSON.stringify(rows) === JSON.stringify(one.rows),
        "trx.client.acquireConnection() is no longer the transaction's connection",
      );
    });
  });

  it('results of `migrate.list()` and `migrate.up()`, error `MigrationLocked`, message `migration file … failed`', async () => {
    const lines: string[] = [];
    const log = pino({ level: 'debug' }, { write: (line: string) => void lines.push(line) });
    const knex = openKnex(pool, log);
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
      await knex.migrate.up(config).catch(() => undefined);
      must(
        lines.some(
          (line) => line.includes('"level":20') && line.includes('migration file \\"2.js\\" failed'),
        ),
        `what it logs of a migration that failed has changed: ${lines.join('')}`,
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
