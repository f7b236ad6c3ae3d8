import { expect } from 'chai';
import { joinDirectory, readCells } from '../../../../src/db/cells/directory/cells.js';
import { migrateDirectory, useDirectory } from '../../../../src/db/cells/directory/directory.js';
import { testLog } from '../../../support/testConfig.js';
import { createTestDatabase, type TestDatabase } from '../../../support/testDatabase.js';

describe('a directory that was never released', () => {
  let database: TestDatabase;
  before(async () => {
    database = await createTestDatabase();
  });
  after(() => database.drop());

  it('is reported with the command that does it', async () => {
    const refusal: unknown = await useDirectory(database.url, 'test', testLog, async (directory) => {
      await readCells(directory);
    }).catch((error: unknown) => error);
    expect(refusal).to.have.property('name', 'UsageError');
    expect((refusal as Error).message).to.include('rowpost directory release');
  });
});

describe('what a cell copies of another', () => {
  let databases: Record<'directory' | 'here' | 'there', TestDatabase>;
  before(async () => {
    const [directory, here, there] = await Promise.all([
      createTestDatabase(),
      createTestDatabase(),
      createTestDatabase(),
    ]);
    databases = { directory, here, there };
    await useDirectory(directory.url, 'test', testLog, async (opened) => {
      await migrateDirectory(opened);
    });
  });
  after(() => Promise.all(Object.values(databases).map((database) => database.drop())));

  const join = async (name: 'here' | 'there'): Promise<void> => {
    const cell = { name, baseUrl: `http://${name}.example`, idRange: name === 'here' ? 0 : 1 };
    await useDirectory(databases.directory.url, 'test', testLog, (directory) =>
      joinDirectory(directory, databases[name].database.pool, cell),
    );
  };
  const providersOf = async (name: 'here' | 'there'): Promise<Record<string, unknown>[]> => {
    const { rows } = await databases[name].database.pool.query<{ row: Record<string, unknown> }>(
      'select to_jsonb(p) as row from rowpost.oidc_providers p where providerid = 77',
    );
    return rows.map(({ row }) => row);
  };

  it('is all columns of its identity providers for all tenants', async () => {
    const { pool } = databases.here.database;
    const { rows: columns } = await pool.query<{ name: string; type: string }>(
      `select attname::text as name, atttypid::regtype::text as type from pg_attribute
       where attrelid = 'rowpost.oidc_providers'::regclass and attnum > 0 and not attisdropped and attname <> 'tenantid'`,
    );
    const values: Record<string, unknown> = {
      text: 'filled',
      boolean: true,
      integer: 77,
      'timestamp with time zone': '2020-02-02T00:00:00Z',
    };
    const row = Object.fromEntries(columns.map(({ name, type }) => [name, values[type]]));
    expect(Object.values(row), 'a value of each type').to.not.include(undefined);
    await pool.query(
      'insert into rowpost.oidc_providers select * from jsonb_populate_record(null::rowpost.oidc_providers, $1)',
      [row],
    );
    await join('here');
    await join('there');
    const [copied] = await providersOf('there');
    expect(copied).to.deep.equal((await providersOf('here'))[0]);
    expect(copied).to.include({ end_session_uri: 'filled', tenantid: null });
  });

  it('is what a cell has learned itself of a provider, until that is configured otherwise', async () => {
    const learned = async (): Promise<unknown> => (await providersOf('there'))[0]!['discovered_issuer'];
    const there = databases.there.database.pool;
    await there.query(
      "update rowpost.oidc_providers set discovered_issuer = 'learned' where providerid = 77",
    );
    await join('there');
    expect(await learned()).to.equal('learned');
    await databases.here.database.pool.query(
      `update rowpost.oidc_providers set auth_uri = 'moved', discovered_issuer = null where providerid = 77`,
    );
    await join('here');
    await join('there');
    expect(await learned()).to.equal(null);
  });
});
