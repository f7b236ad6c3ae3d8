import { expect } from 'chai';
import { createTenant, type CreatedTenant } from '../../../src/control/tenants/tenants.js';
import { partsOf } from '../../../src/db/tenants/scriptParts.js';
import { runTenantSql } from '../../../src/db/tenants/tenantSql.js';
import { AppError } from '../../../src/foundation/errors.js';
import { createTestDatabase, type TestDatabase } from '../../support/testDatabase.js';

/** What is one statement to psql, whatever semicolons it holds. */
const STATEMENTS = [
  "select ';', 'it''s;', E'a\\';b', E'\\\\', U&'\\003b;'",
  'select 1 as "a;""b"',
  'select $$a;b$$, $x$ $$;$$ ; $x$, $1',
  'select 1 /* ; /* nested ; */ still */ + 2',
  'select 1 -- ; not here\n + 2',
  'create rule r as on update to t do also (select 1; select 2)',
  'create function f() returns int language sql begin atomic select case when true then 1 else 2 end; select 2; end',
  'CREATE OR REPLACE FUNCTION f() returns void language plpgsql as $f$ begin perform 1; end; $f$',
  "create procedure p() language sql begin atomic select 'end;'; end",
  'select a$b$ from t',
  "select 'a\\'",
];

describe('the script of a tenant', () => {
  let test: TestDatabase;
  let tenant: CreatedTenant;
  before(async () => {
    test = await createTestDatabase();
    tenant = await createTenant(test.database.pool, {
      name: 'scripts',
      rootLogin: 'root',
      rootPassword: 'correct horse',
    });
  });
  after(() => test.drop());

  const run = (sql: string): Promise<unknown> =>
    runTenantSql(test.database, { tenantid: tenant.tenantid, sql });
  const failureOf = async (sql: string): Promise<AppError> => {
    const error: unknown = await run(sql).catch((thrown: unknown) => thrown);
    if (!(error instanceof AppError)) throw new Error('the script was run');
    return error;
  };
  const rows = async (sql: string): Promise<unknown[]> =>
    (await test.database.pool.query({ text: sql.replaceAll('SCHEMA', tenant.schema), rowMode: 'array' }))
      .rows;
  const exists = async (table: string): Promise<boolean> =>
    (await rows(`select to_regclass('SCHEMA.${table}') is not null`))[0]?.toString() === 'true';

  it('is split where psql splits it', () => {
    const parts = [...partsOf(` ;; ${STATEMENTS.join(';\n')};\n-- the end\n`)];
    expect(parts.map(({ kind, text }) => [kind, text])).to.deep.equal(
      STATEMENTS.map((text) => ['statement', `${text};`]),
    );
  });

  it('may begin with a byte order mark', async () => {
    await run('\uFEFFcreate table marked (id int primary key)');
    expect(await exists('marked')).to.equal(true);
  });

  it('may be a dump with data, in which psql has commands of its own', async () => {
    await run(`\\restrict abc
SET statement_timeout = 0;
create table dumped (id int primary key, note text, "when" timestamptz);
COPY dumped (id, note, "when") FROM stdin;
1\ta\\tb;\\\\\t2026-01-01 00:00:00+00
2\t\\N\t\\N
\\.

insert into dumped values (3, ';');
\\unrestrict abc
`);
    expect(await rows('select id, note from SCHEMA.dumped order by id')).to.deep.equal([
      [1, 'a\tb;\\'],
      [2, null],
      [3, ';'],
    ]);
  });

  it('says at which line its data are wrong', async () => {
    const error = await failureOf('create table wrong (id int);\ncopy wrong from stdin;\n1\nx\n\\.\n');
    expect(error.message).to.contain('at line 4').and.contain('invalid input syntax');
    expect(error.hint).to.contain('none of it was applied');
    expect(await exists('wrong')).to.equal(false);
  });

  it('says which commands of psql are not run', async () => {
    const error = await failureOf('create table t (id int);\n  \\connect other\n');
    expect(error.message).to.equal(
      'The script failed at line 2, column 3: \\connect is a command of psql, and no SQL',
    );
    expect(await exists('t')).to.equal(false);
  });

  const COMMITS: readonly (readonly [script: string, applied: RegExp, tables: readonly string[]])[] = [
    ['create table TABLE_1 (id int);\nselect 1 / 0;', /none of it was applied/, []],
    ['create table TABLE_1 (id int);\ncommit;\nselect 1 / 0;', /up to line 2 was committed/, ['1']],
    [
      'create table TABLE_1 (id int);\ncommit;\ncreate table TABLE_2 (id int);\nselect 1 / 0;',
      /up to line 3 was committed/,
      ['1', '2'],
    ],
    ['create table TABLE_1 (id int);\nrollback;\nselect 1 / 0;', /none of it was applied/, []],
    [
      'rollback;\nbegin;\ncreate table TABLE_1 (id int);\nend;\nselect 1 / 0;',
      /up to line 4 was committed/,
      ['1'],
    ],
    [
      'create table TABLE_1 (id int);\ncommit and chain;\ncreate table TABLE_2 (id int);\nselect 1 / 0;',
      /up to line 2 was committed/,
      ['1'],
    ],
    ['commit;\nbegin;\ncreate table TABLE_1 (id int);\nselect 1 / 0;', /up to line 1 was committed/, []],
    [
      'create table TABLE_1 (id int unique deferrable initially deferred);\ninsert into TABLE_1 values (1), (1);',
      /none of it was applied/,
      [],
    ],
  ];
  for (const [index, [script, applied, tables]] of COMMITS.entries()) {
    it(`says what was applied of ${JSON.stringify(script)}`, async () => {
      const error = await failureOf(script.replaceAll('TABLE', `c${index}`));
      expect(error.code).to.equal('TENANT_SQL_FAILED');
      expect(error.hint).to.match(applied);
      for (const number of ['1', '2'])
        expect(await exists(`c${index}_${number}`), number).to.equal(tables.includes(number));
    });
  }

  it('may end its transaction for what needs none', async () => {
    await run('create table many (id int);\ncommit;\nvacuum many;');
    expect(await exists('many')).to.equal(true);
  });

  it('names the line of a statement that fails, however wide its characters are', async () => {
    const error = await failureOf("select '😀';\n  select '😀', nothing;");
    expect(error.details).to.include({ line: 2, column: 15 });
  });
});
