import { expect } from 'chai';
import { parseJson } from '../../../src/foundation/json/losslessJson.js';
import { openCaptureFixture, type CaptureFixture } from './captureFixture.js';

/** Columns that PostgreSQL computes, in a table for each path of the trigger: types of its own, a key behind, partitions. */
const COMPUTED = `
  a int, t text, j jsonb,
  stored int generated always as (a * 2) stored,
  v int generated always as (a * 2) virtual, half numeric(8, 2) generated always as (a / 3.0) virtual,
  short varchar(40) generated always as (upper(t) || E'\\\\''"' || chr(1)) virtual, inner_b bigint generated always as ((j ->> 'b')::bigint) virtual,
  "odd % ""name" boolean generated always as (t like 'x%' or a is null) virtual, days interval generated always as (make_interval(days => a)) virtual,
  at date default '2026-06-01', made int generated always as identity`;
const DDL = `
  create type mood as enum ('glad');
  create table first (id int primary key, ${COMPUTED});
  create table later (${COMPUTED}, id int primary key, mood mood default 'glad');
  create table part (id int, ${COMPUTED.replace(', made int generated always as identity', '')}, primary key (id)) partition by range (id);
  create table part_1 partition of part for values from (0) to (1000);
  create table part_2 partition of part for values from (1000) to (2000);
  create table stopped (id int primary key, n int, v int generated always as (n + 1) virtual);
  create function change() returns trigger language plpgsql as $$ begin
    if new.n = 0 then return null; end if;
    if new.n < 0 then raise exception 'no'; end if;
    new.n := new.n * 10; return new; end $$;
  create trigger change before insert or update on stopped for each row execute function change()`;
const TABLES = ['first', 'later', 'part'];
const OF_API = ['a', 't', 'stored', 'v', 'half', 'short', 'inner_b', 'odd____name', 'days'];
const OF_SQL = ['a', 't', 'stored', 'v', 'half', 'short', 'inner_b', 'odd % "name', 'days'];

describe('captured columns that PostgreSQL computes', () => {
  let fixture: CaptureFixture;
  before(async () => (fixture = await openCaptureFixture(DDL, [...TABLES, 'stopped'])));
  after(() => fixture.close());
  beforeEach(() => fixture.events());

  const read = async (table: string, ids: readonly number[]): Promise<readonly unknown[]> => {
    const { body } = await fixture.shop.ask(
      `{ ${table}(filter: "id in [${ids.join(', ')}]", ordering: "id") { ${OF_API.join(' ')} } }`,
    );
    const rows = (parseJson(body) as { data: Record<string, Record<string, unknown>[]> }).data[table];
    return rows!.map((row) => OF_API.map((name) => row[name]));
  };
  const values = (record: string | null): unknown => {
    const row = parseJson(record ?? 'null') as Record<string, unknown>;
    return OF_SQL.map((name) => row[name]);
  };

  for (const table of TABLES) {
    it(`have in events of ${table} the values that the API reads`, async () => {
      const { writer, shop } = fixture;
      await writer.query(
        `insert into ${table} (id, a, t, j) values (1, 7, 'xy', '{"b": 1}'), (2, null, null, null), (3, -2, '', '{}')`,
      );
      await shop.data(`mutation { create_${table}(input: {id: 4, a: 5, t: "api"}) { id } }`);
      const inserted = await fixture.events();
      expect(inserted.map((event) => values(event.new))).to.deep.equal(await read(table, [1, 2, 3, 4]));
      await writer.query(`update ${table} set a = coalesce(a, 0) + 100 where id < 5`);
      const updated = await fixture.events();
      expect(updated.map((event) => values(event.old))).to.deep.equal(
        inserted.map((event) => values(event.new)),
      );
      expect(updated.map((event) => values(event.new))).to.deep.equal(await read(table, [1, 2, 3, 4]));
      await writer.query(`delete from ${table} where id < 5`);
      const deleted = await fixture.events();
      expect(deleted.map((event) => values(event.old))).to.deep.equal(
        updated.map((event) => values(event.new)),
      );
      expect(deleted.map((event) => event.key)).to.deep.equal([1, 2, 3, 4].map((id) => `{"id" : ${id}}`));
    });

    it(`are null in events of ${table} for rows of which they have no value, and others lose nothing`, async () => {
      const { writer } = fixture;
      await writer.query(
        `insert into ${table} (id, a, t, j) values (11, 1, 'x', '{"b": "no number"}'), (12, 2, 'y', '{"b": 2}'), (13, 3, 'too long for the column that shows it', '{"b": 3}')`,
      );
      const [one, two, three] = (await fixture.events()).map(
        (event) => parseJson(event.new ?? '') as Record<string, unknown>,
      );
      expect(one).to.include({ id: 11, v: 2, inner_b: null });
      expect(two).to.include({ id: 12, v: 4, inner_b: 2 });
      expect(three).to.include({ id: 13, v: 6, inner_b: 3 });
      await writer.query(
        `update ${table} set t = 'z' where id in (11, 12); delete from ${table} where id in (11, 12, 13)`,
      );
      expect((await fixture.events()).map(({ operation, key }) => `${operation} ${key}`)).to.deep.equal([
        ...[11, 12].map((id) => `update {"id" : ${id}}`),
        ...[11, 12, 13].map((id) => `delete {"id" : ${id}}`),
      ]);
    });
  }

  it('are there for statements of thousands of rows, and on the way to another partition', async () => {
    const { writer } = fixture;
    await writer.query(`insert into part (id, a) select i, i from generate_series(100, 1998) i`);
    const events = await fixture.events();
    expect(events).to.have.length(1899);
    for (const event of events) {
      const { id, v } = JSON.parse(event.new ?? '') as { id: number; v: number };
      expect(v).to.equal(2 * id);
    }
    await writer.query('update part set id = 1999 where id = 100');
    const [moved] = await fixture.events();
    expect(moved).to.include({ operation: 'update', key: '{"id" : 1999}' });
  });

  it('are those of the row that triggers of the table made, and there is no event where they stop or refuse it', async () => {
    const { writer } = fixture;
    await writer.query('insert into stopped values (1, 5), (2, 0)');
    await writer.query('insert into stopped values (3, -1)').then(
      () => expect.fail('refused'),
      () => undefined,
    );
    await writer.query('update stopped set n = 7; update stopped set n = 0');
    expect((await fixture.events()).map(({ old, new: now }) => [old, now])).to.deep.equal([
      [null, '{"id":1,"n":50,"v":51}'],
      ['{"id":1,"n":50,"v":51}', '{"id":1,"n":70,"v":71}'],
    ]);
  });
});
