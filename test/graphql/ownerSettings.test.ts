import { expect } from 'chai';
import pg from 'pg';
import { captureTable } from '../../src/control/utility/capture.js';
import { adoptTenant, type CreatedTenant } from '../../src/control/tenants/tenants.js';
import { inTransaction } from '../../src/db/pool/inTransaction.js';
import { PrincipalSource } from '../../src/db/roles/principal.js';
import { createDataEngine, type DataEngine } from '../../src/graphql/dataEngine.js';
import { createTestTenant } from '../support/createTestTenant.js';
import { testConfig, testLog } from '../support/testConfig.js';
import { createTestDatabase, type TestDatabase } from '../support/testDatabase.js';

/** What PostgreSQL computes or shows by settings of the session, in every form that it can have. */
const TABLES = `
  create type moment as (at timestamptz, amount numeric);
  create type place as (at timestamptz);
  create type period as range (subtype = timestamptz);
  create domain instant as timestamptz;
  create table item (id int primary key, created timestamp not null default now(), clock time not null default localtime,
    day date not null default current_date, words text not null default date_trunc('hour', now())::timestamp::text,
    at timestamptz not null default now(), given date, naive timestamp, iv interval default '1 year -2 days 03:04:05.6',
    instant instant default now(), ats timestamptz[] default array['2026-06-01 12:34:56.789+02', null, 'infinity']::timestamptz[],
    span tstzrange default '[2026-06-01 00:00+02,)', spans tstzmultirange default '{[2026-06-01 00:00+02,2026-06-02 00:00+02)}',
    own period default '[2026-06-01 00:00+02,)', moment moment default row('2026-06-01 12:00+02', 1.50), place place default row('2026-06-01 12:00+02'),
    places place[] default array[row('2026-06-01 12:00+02')::place], long_ago timestamptz default '0044-03-15 12:00+00 BC', tz timetz default '12:00+02');
  create table visit (at timestamptz primary key, note text);
  create table stamped (id int primary key, created timestamp, at timestamptz default now());
  create function stamp() returns trigger language plpgsql as 'begin new.created := now(); return new; end';
  create trigger stamp before insert or update on stamped for each row execute function stamp()`;
/** A response's fields, each with what PostgreSQL shows in a session in UTC. */
const FIELDS = 'at instant ats span spans own moment place places long_ago tz created clock day naive iv';

interface RecordedEvent {
  readonly key: unknown;
  readonly old: Readonly<Record<string, unknown>> | null;
  readonly new: Readonly<Record<string, unknown>> | null;
}

/** Each level at which PostgreSQL takes a setting from; the first that has one wins. */
const LEVELS = (role: string, database: string): Readonly<Record<string, string>> => ({
  'role in the database': `alter role ${role} in database ${database}`,
  role: `alter role ${role}`,
  database: `alter database ${database}`,
});

describe("the settings of an adopted schema's owner", () => {
  let test: TestDatabase;
  let role: string;
  let database: string;
  let tenant: CreatedTenant;
  let other: CreatedTenant;
  let engine: DataEngine;
  let id = 0;

  before(async () => {
    test = await createTestDatabase();
    const { pool } = test.database;
    const { rows } = await pool.query<{ oid: number; name: string }>(
      'select oid, datname as name from pg_database where datname = current_database()',
    );
    role = `app_${rows[0]!.oid}`;
    database = rows[0]!.name;
    await pool.query(
      `create role ${role} login password 'app'; grant ${role} to current_user with inherit true, set true`,
    );
    await pool.query(`grant connect, create on database ${database} to ${role}`);
    await asApp(`create schema app; set search_path = app; ${TABLES}`);
    tenant = await adoptTenant(test.database.pool, {
      name: 'app',
      schema: 'app',
      rootLogin: 'root',
      rootPassword: 'correct horse',
    });
    other = await createTestTenant(test.database.pool, {
      name: 'other',
      rootLogin: 'root',
      rootPassword: 'correct horse',
    });
    await pool.query(
      `create table ${other.schema}.item (id int primary key, created timestamp default now(), at timestamptz default now())`,
    );
    const names = await test.database.tenants.names();
    await pool.query(`alter table ${other.schema}.item owner to ${names.tenant(other.tenantid)}`);
    engine = createDataEngine({
      database: test.database,
      config: testConfig(),
      log: testLog,
      onCommitted: () => undefined,
    });
  });
  after(async () => {
    await test.database.pool.query(`drop owned by ${role} cascade; drop role ${role}`).catch(() => undefined);
    await test.drop();
  });
  afterEach(async () => {
    for (const level of Object.values(LEVELS(role, database)))
      await test.database.pool.query(`${level} reset timezone; ${level} reset datestyle`);
  });

  /** In a session of the application, with what PostgreSQL gives it. */
  const asApp = async (sql: string): Promise<void> => {
    const url = new URL(test.url);
    url.username = role;
    url.password = 'app';
    const client = new pg.Client({ connectionString: url.href });
    await client.connect();
    try {
      await client.query(sql);
    } finally {
      await client.end();
    }
  };
  /** As the service, in UTC. */
  const inUtc = async (sql: string): Promise<Record<string, string>> => {
    const { rows } = await test.database.pool.query<Record<string, string>>({ text: sql });
    return rows[0] ?? {};
  };
  const ask = async (query: string, of = tenant, variables = {}): Promise<string> => {
    const principal = await new PrincipalSource(test.database.pool).load(of.tenantid, of.rootRoleid);
    const { body } = await engine.execute(principal!, { query, variables }, { allowMutation: true });
    return body;
  };
  const set = async (level: string, setting: string): Promise<void> => {
    await test.database.pool.query(`${level} set ${setting}`);
    await engine.introspect(tenant.tenantid, 'app');
  };
  /** How far the local times of a row are from its moment. */
  const distances = (of: number): Promise<Record<string, string>> =>
    inUtc(`select (created - (at at time zone 'UTC'))::text as created, (clock - (at at time zone 'UTC')::time)::text as clock,
        (day - (at at time zone 'UTC')::date)::text as day, given::text, naive::text, words::time - clock between '-1 h' and '1 h' as words
        from app.item where id = ${of}`);
  const events = async (): Promise<readonly RecordedEvent[]> => {
    const { rows } = await test.database.pool.query<RecordedEvent>(
      'select new, old, key from rowpost.outbox order by eventid',
    );
    return rows;
  };

  for (const level of ['role in the database', 'role', 'database']) {
    for (const zone of ['America/New_York', 'Asia/Kathmandu', '<-03>+3']) {
      it(`apply to what the API writes, if the ${level} has ${zone}`, async () => {
        await set(LEVELS(role, database)[level]!, `timezone = '${zone}'`);
        const [mine, theirs] = [++id, ++id];
        await asApp(
          `insert into app.item (id, given, naive) values (${theirs}, '2026-03-01', '2026-03-01 12:00Z')`,
        );
        const body = await ask(
          `mutation { create_item(input: {id: ${mine}, given: "2026-03-01", naive: "2026-03-01 12:00Z"}) { id } }`,
        );
        expect(body).to.equal(`{"data":{"create_item":{"id":"${mine}"}}}`);
        const [one, two] = [await distances(mine), await distances(theirs)];
        expect(one).to.deep.equal(two);
        expect(one['created']).to.match(/^PT(-[345]H|5H45M)$/);
      });
    }
  }

  it('apply to what triggers write', async () => {
    await set(LEVELS(role, database)['role']!, `timezone = 'Asia/Kathmandu'`);
    const seen = async (): Promise<unknown> =>
      inUtc(`select (created - (at at time zone 'UTC'))::text as distance from app.stamped`);
    await ask('mutation { create_stamped(input: {id: 1}) { id } }');
    expect(await seen()).to.deep.equal({ distance: 'PT5H45M' });
  });

  it('follow their precedence, and changes of theirs', async () => {
    const levels = LEVELS(role, database);
    const expected = { database: 'PT-5H', role: 'PT5H45M', 'role in the database': 'PT-3H' };
    const zones = { database: 'EST', role: 'Asia/Kathmandu', 'role in the database': '<-03>+3' };
    for (const level of ['database', 'role', 'role in the database'] as const) {
      await set(levels[level]!, `timezone = '${zones[level]}'`);
      await ask(`mutation { create_item(input: {id: ${++id}}) { id } }`);
      expect((await distances(id))['created']).to.equal(expected[level]);
    }
    await set(levels['role in the database']!, `timezone = 'UTC'`);
    await ask(`mutation { create_item(input: {id: ${++id}}) { id } }`);
    expect((await distances(id))['created']).to.equal('PT0S');
  });

  it('are noticed without a new read of the tables', async () => {
    const level = LEVELS(role, database)['role']!;
    await ask('{ item(limit: 1) { id } }');
    await test.database.pool.query(`${level} set timezone = 'EST'`);
    const deadline = Date.now() + 30_000;
    let distance = '';
    while (distance !== 'PT-5H' && Date.now() < deadline) {
      await ask(`mutation { create_item(input: {id: ${++id}}) { id } }`);
      distance = (await distances(id))['created']!;
    }
    expect(distance).to.equal('PT-5H');
  });

  it('decide how days and months are read', async () => {
    for (const [style, date] of [
      ['SQL, DMY', '2026-05-04'],
      ['German', '2026-05-04'],
      ['Postgres, MDY', '2026-04-05'],
    ] as const) {
      await set(LEVELS(role, database)['role']!, `datestyle = '${style}'`);
      const [mine, theirs] = [++id, ++id];
      await asApp(`insert into app.item (id, given) values (${theirs}, '04/05/2026')`);
      const body = await ask(`mutation { create_item(input: {id: ${mine}, given: "04/05/2026"}) { given } }`);
      expect(body).to.equal(`{"data":{"create_item":{"given":"${date}"}}}`);
      expect(
        await inUtc(`select distinct given::text from app.item where id in (${mine}, ${theirs})`),
      ).to.deep.equal({
        given: date,
      });
    }
  });

  it('decide what times without an offset mean', async () => {
    await set(LEVELS(role, database)['role']!, `timezone = 'America/New_York'`);
    const body = await ask(
      `mutation { create_item(input: {id: ${++id}, at: "2026-01-01T00:00:00", naive: "2026-01-01T00:00:00"}) { at naive } }`,
    );
    expect(body).to.equal(
      '{"data":{"create_item":{"at":"2026-01-01T05:00:00+00:00","naive":"2026-01-01T00:00:00"}}}',
    );
    for (const filter of ["at = '2026-01-01 00:00'", "at = '2026-01-01 05:00Z'", 'at = naive'])
      expect(await ask(`{ item(filter: "id = ${id} and ${filter}") { id } }`)).to.equal(
        `{"data":{"item":[{"id":"${id}"}]}}`,
      );
  });

  it('do not change what is printed, in responses and events', async () => {
    await set(LEVELS(role, database)['role']!, `timezone = 'America/New_York'`);
    await set(LEVELS(role, database)['role']!, `datestyle = 'SQL, DMY'`);
    const mine = ++id;
    const created: unknown = JSON.parse(
      await ask(`mutation { create_item(input: {id: ${mine}, naive: "2026-01-01"}) { ${FIELDS} } }`),
    );
    const shown = await inUtc(
      `select ${FIELDS.split(' ')
        .map(
          (name) =>
            `to_json(${['span', 'spans', 'own', 'iv'].includes(name) ? `${name}::text` : name}) as ${name}`,
        )
        .join(', ')} from app.item where id = ${mine}`,
    );
    const expected = JSON.parse(JSON.stringify(shown)) as unknown;
    expect(created).to.deep.equal({ data: { create_item: expected } });
    expect(JSON.parse(await ask(`{ item(filter: "id = ${mine}") { ${FIELDS} } }`))).to.deep.equal({
      data: { item: [expected] },
    });
    const { max } = await inUtc('select to_json(max(at)) as max from app.item');
    expect(await ask('{ Aggregates { max(subquery: "{ item { at } }") } }')).to.equal(
      `{"data":{"Aggregates":{"max":[{"max":"${max}"}]}}}`,
    );
    const row = (await inUtc(`select row_to_json(i)::text as row from app.item i where id = ${mine}`))[
      'row'
    ]!;
    expect((await events()).at(-1)!.new).to.deep.equal(JSON.parse(row));
  });

  it('do not change keys, whoever writes', async () => {
    await set(LEVELS(role, database)['role']!, `timezone = 'America/New_York'`);
    const at = '2026-06-01T12:00:00+00:00';
    const created = await ask(`mutation { create_visit(input: {at: "2026-06-01 08:00"}) { at } }`);
    expect(created).to.equal(`{"data":{"create_visit":{"at":"${at}"}}}`);
    expect(await ask(`mutation { update_visit(at: "${at}", input: {note: "x"}) { at note } }`)).to.equal(
      `{"data":{"update_visit":{"at":"${at}","note":"x"}}}`,
    );
    const catalog = await engine.introspect(tenant.tenantid, 'app');
    await inTransaction(test.database.pool, (trx) =>
      captureTable(trx, test.database, { tenantid: tenant.tenantid, catalog, table: 'visit' }, 'all'),
    );
    await asApp(`update app.visit set note = 'y'`);
    expect(await ask(`mutation { delete_visit(at: "2026-06-01T08:00:00") { at } }`)).to.equal(
      `{"data":{"delete_visit":{"at":"${at}"}}}`,
    );
    const keys = (await events()).slice(-4).map(({ key, new: after, old }) => [key, (after ?? old)?.['at']]);
    expect(keys).to.deep.equal(Array.from({ length: 4 }, () => [{ at }, at]));
  });

  it('apply to filters and conditions', async () => {
    await set(LEVELS(role, database)['role']!, `timezone = 'Asia/Kathmandu'`);
    await ask(`mutation { create_item(input: {id: ${++id}}) { id } }`);
    for (const [filter, holds] of [
      ['created > now()', false],
      ['created = at', true],
      ["date_trunc('day', at) = day", true],
    ] as const) {
      expect(await ask(`{ item(filter: "id = ${id} and (${filter})") { id } }`), filter).to.equal(
        holds ? `{"data":{"item":[{"id":"${id}"}]}}` : '{"data":{"item":[]}}',
      );
      const [event] = (await events()).slice(-1);
      const condition = filter.replaceAll(/\b(created|at|day)\b(?!')/g, 'new.$1');
      const records = { old: null, new: JSON.stringify(event!.new) };
      const [verdict] = await engine.evaluateCondition(tenant.tenantid, 'app', 'item', condition, [records]);
      expect(verdict, condition).to.equal(holds);
    }
  });

  it('are those of one tenant', async () => {
    await set(LEVELS(role, database)['database']!, `timezone = 'America/New_York'`);
    const create = (): Promise<string> => ask(`mutation { create_item(input: {id: ${++id}}) { id } }`, other);
    await Promise.all([ask('{ item { at } }'), create(), ask('{ item { at } }'), create()]);
    const { rows } = await test.database.pool.query<{ same: boolean }>(
      `select created = at at time zone 'UTC' as same from ${other.schema}.item`,
    );
    expect(rows).to.deep.equal([{ same: true }, { same: true }]);
    const body = await ask('{ item(limit: 1) { at } }', other);
    expect(body).to.match(/\+00:00"/);
  });
});
