import { expect } from 'chai';
import pg from 'pg';
import { statementsToCaptureTables, type CapturedTable } from '../../src/db/capture/captureTables.js';
import { chooseTables } from '../../src/control/utility/captureTables.js';
import { CatalogStore } from '../../src/db/catalog/catalogStore.js';
import { codeOf, WebFixture, type GraphqlResult } from '../api/webFixture.js';
import { testLog } from '../support/testConfig.js';

const PLAIN = 60;
/** Of tables whose names are SQL, or not legal in GraphQL. */
const HOSTILE = [
  'x on y; drop table plain_1;--',
  'a"b',
  "it's",
  'select',
  '*',
  'plain_*',
  '%I $1 \\',
  'line\nbreak',
  'ü'.repeat(31),
  'Order',
  '$$',
];
const SET = `mutation ($tables: [String!]!, $except: [String!], $writers: capture_writers!) {
  Utility { set_captures(tables: $tables, except: $except, writers: $writers) { table result problem } } }`;

describe('roles_pbac: set_captures', () => {
  let fixture: WebFixture;
  let tenantid: number;
  let schema: string;
  let root: string;
  let catalogs: CatalogStore;
  let writer: pg.Client;

  before(async () => {
    fixture = await WebFixture.start({ env: { REQUEST_TIMEOUT_MS: '3000' } });
    const plain = Array.from(
      { length: PLAIN },
      (_, n) => `create table plain_${n} (id int primary key, text text)`,
    );
    const hostile = HOSTILE.map((name) => `create table ${pg.escapeIdentifier(name)} (id int primary key)`);
    ({ tenantid, schema } = await fixture.createTenant(
      'shop',
      [
        ...plain,
        ...hostile,
        'create table keyless (id int)',
        'create view plain_view as select * from plain_1',
        'create table parted (id int primary key) partition by range (id)',
        'create table part_one partition of parted for values from (0) to (10)',
      ].join(';\n'),
    ));
    root = (await fixture.signIn(tenantid)).access_token;
    const { database } = fixture.testDatabase;
    catalogs = new CatalogStore({ pool: database.pool, tenants: database.tenants, log: testLog, checkMs: 0 });
    writer = new pg.Client({ connectionString: fixture.testDatabase.url });
    await writer.connect();
  });
  after(async () => {
    await writer.end();
    await fixture.stop();
  });
  beforeEach(async () => {
    await set({ tables: ['*'], writers: 'api' });
  });

  const request = (variables: object): Promise<GraphqlResult> => fixture.control(root, SET, variables);
  const set = async (variables: object): Promise<readonly CapturedTable[]> => {
    const { data, errors } = await request(variables);
    expect(errors).to.equal(undefined);
    return (data as { Utility: { set_captures: CapturedTable[] } }).Utility.set_captures;
  };
  const counted = (results: readonly CapturedTable[]): Record<string, number> => {
    const counts: Record<string, number> = {};
    for (const { result } of results) counts[result] = (counts[result] ?? 0) + 1;
    return counts;
  };
  /** Triggers by table, each of four. */
  const captured = async (): Promise<readonly string[]> => {
    const { rows } = await writer.query<{ name: string }>(
      `select c.relname::text as name from pg_trigger g join pg_class c on c.oid = g.tgrelid
       where c.relnamespace = $1::regnamespace and g.tgfoid = 'rowpost.capture_rows'::regproc group by 1 having count(*) = 4 order by 1`,
      [schema],
    );
    return rows.map(({ name }) => name);
  };
  const ALL = PLAIN + HOSTILE.length + 1;

  it('captures all tables that a pattern matches, and says what became of each', async () => {
    const results = await set({ tables: ['*'], writers: 'all' });
    expect(counted(results)).to.deep.equal({ changed: ALL, left_out: 1 });
    expect(results.find(({ result }) => result === 'left_out')).to.deep.include({ table: 'keyless' });
    expect(await captured()).to.have.length(ALL + 1);
    for (const name of HOSTILE) {
      await writer.query(`insert into ${schema}.${pg.escapeIdentifier(name)} values (1)`);
      await writer.query(`delete from ${schema}.${pg.escapeIdentifier(name)}`);
    }
    const { rows } = await writer.query<{ count: number }>('select count(*)::int from rowpost.outbox');
    expect(rows).to.deep.equal([{ count: 2 * HOSTILE.length }]);
    expect(counted(await set({ tables: ['*'], writers: 'all' }))).to.deep.equal({
      unchanged: ALL,
      left_out: 1,
    });
    expect(counted(await set({ tables: ['*'], writers: 'api' }))).to.deep.equal({
      changed: ALL,
      left_out: 1,
    });
    expect(await captured()).to.deep.equal([]);
    expect(counted(await set({ tables: ['*'], writers: 'api' }))).to.deep.equal({
      unchanged: ALL,
      left_out: 1,
    });
  });

  for (const [tables, except, names] of [
    [['plain_1'], [], ['plain_1']],
    [
      ['plain_1*'],
      ['plain_1?', 'plain_1*5'],
      ['plain_1', ...[0, 1, 2, 3, 4, 6, 7, 8, 9].map((n) => `plain_1${n}`)],
    ],
    [['p*n_7', '*_8', 'plain_9'], ['plain_9'], ['plain_7', 'plain_8']],
    [
      ['plain_3', '*n*_3*'],
      ['*0', '*_3_*'],
      ['plain_3', ...[1, 2, 3, 4, 5, 6, 7, 8, 9].map((n) => `plain_3${n}`)],
    ],
    [['p*rted'], [], ['parted']],
    [['plain_4*4'], [], ['plain_44']],
  ] as const) {
    it(`takes ${JSON.stringify(tables)} without ${JSON.stringify(except)}`, async () => {
      const results = await set({ tables, except, writers: 'all' });
      expect(results.map(({ table }) => table).sort()).to.deep.equal([...names].sort());
      expect((await captured()).filter((name) => name !== 'part_one')).to.deep.equal([...names].sort());
    });
  }

  it('refuses names that are not those of tables, and changes nothing', async () => {
    for (const [tables, code] of [
      [['plain_1', 'nothing'], 'UNKNOWN_TABLE'],
      [['plain_1', 'nothing*'], 'BAD_USER_INPUT'],
      [[], 'BAD_USER_INPUT'],
    ] as const)
      expect(codeOf(await request({ tables, writers: 'all' })), tables.join()).to.equal(code);
    expect(await captured()).to.deep.equal([]);
  });

  it('says that a table without a key, or a view, can not be captured if it is named', async () => {
    const results = await set({ tables: ['keyless', 'plain_view', 'plain_2'], writers: 'all' });
    expect(counted(results)).to.deep.equal({ changed: 1, failed: 2 });
  });

  it('locks one table at a time, and leaves one in use for the end', async () => {
    await writer.query(`begin; insert into ${schema}.plain_5 values (5)`);
    let most = 0;
    const until = { isDone: false };
    const watcher = new pg.Client({ connectionString: fixture.testDatabase.url });
    await watcher.connect();
    const watch = (async () => {
      while (!until.isDone) {
        const { rows } = await watcher.query<{ count: number }>(
          `select count(distinct relation)::int from pg_locks l join pg_class c on c.oid = l.relation
           where c.relnamespace = $1::regnamespace and c.relkind = 'r' and l.mode = 'ShareRowExclusiveLock' and l.granted`,
          [schema],
        );
        most = Math.max(most, rows[0]!.count);
      }
    })();
    const first = await set({ tables: ['plain_*'], except: ['plain_*_*'], writers: 'all' });
    until.isDone = true;
    await watch;
    await watcher.end();
    expect(most).to.equal(1);
    expect(
      first.filter(({ result }) => result !== 'changed').map(({ table, result }) => [table, result]),
    ).to.deep.equal([['plain_5', 'failed']]);
    expect(first.find(({ table }) => table === 'plain_5')!.problem).to.match(/did not end in time/);
    await writer.query('commit');
    expect(counted(await set({ tables: ['plain_*'], except: ['plain_*_*'], writers: 'all' }))).to.deep.equal({
      changed: 1,
      unchanged: PLAIN - 1,
    });
  });

  it('must be the only mutation of its request', async () => {
    const { errors } = await fixture.control(
      root,
      'mutation { Utility { set_captures(tables: ["plain_1"], writers: all) { table } set_file_table(table_name: "plain_1", column_name: "text") { table_name } } }',
    );
    expect(errors?.[0]?.extensions.code).to.equal('BAD_USER_INPUT');
    expect(await captured()).to.deep.equal([]);
  });

  it('prints statements that do the same', async () => {
    const { pool } = fixture.testDatabase.database;
    for (const writers of ['all', 'api'] as const) {
      const catalog = await catalogs.introspect(tenantid, schema);
      const { tables } = chooseTables(catalog, ['*'], ['plain_1*']);
      const what = { tenantid, schema, tables, writers };
      await writer.query((await statementsToCaptureTables(pool, what)).join(';\n'));
      expect(await statementsToCaptureTables(pool, what)).to.deep.equal([]);
      expect(await captured()).to.have.length(writers === 'all' ? ALL + 1 - 11 : 0);
      const results = await set({ tables: ['*'], except: ['plain_1*'], writers });
      expect(counted(results)).to.deep.equal({ unchanged: ALL - 11, left_out: 1 });
    }
  });
});
