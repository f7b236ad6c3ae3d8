import { expect } from 'chai';
import { openShop, type Json, type Shop } from './support/shop.js';

const DDL = `
  create type place as (street text, "No" int, at timestamptz);
  create table lists (tags text[] primary key, note text);
  create table placed (p place primary key, note text);
  create table visits (id int primary key, p place references placed);
  create type leg as (via place[], target place, km numeric);
  create table trips (id int primary key, p place, ps place[], l leg, ls leg[], v visits);
  create table jsons (j jsonb primary key, note text);
  create table chunks (parts bytea[] primary key, note text);
  create table settings (id int primary key, j json, b jsonb, js json[], bs jsonb[], bytes bytea, parts bytea[]);
  create domain email as text check (value like '%@%');
  create type mood as enum ('sad', 'happy');
  create domain feeling as mood;
  create table emails (m email[] primary key, note text);
  create table feelings (f feeling primary key, note text);
  create table vectors (v int2vector primary key, note text);
  create domain shift as int[];
  create table plans (id int primary key, boxes box[]);
  create table weeks (id int primary key, shifts shift[]);
  create table several (ns int8[], p place, d date, note text, primary key (ns, p, d));
  create table numbers (id int primary key, n numeric, f8 float8, f4 float4, o oid, c "char", ints int[], longs int8[], words varchar(9)[],
    j json, js json[]);
  create table node (nid int primary key, t time, changed int, prior place, written text, written_0 text, given text, gone boolean, p int, r int, "row" int,
    unique (changed));
  create table counted (id int primary key, a int);
  create view computed as select id, a * 1000 as thousand from counted;
  create table options (id int primary key, h public.hstore, hs public.hstore[], "Odd ""name" public.hstore);
  insert into lists values ('{a,"b,c"}', 'x');
  insert into placed values (('Main "St", 1', 5, '2026-01-01 00:00:00.000001+00'), 'x');
  insert into jsons values ('{"n": 1.10, "t": "1"}', 'x');
  insert into chunks values (array['\\x00ff', null, '']::bytea[], 'x');
  insert into emails values ('{a@x,b@x}', 'x');
  insert into feelings values ('happy', 'x');
  insert into vectors values ('1 2 3', 'x');
  insert into weeks values (1, array['{1,2}', '{}']::shift[]), (2, null);
  insert into several values ('{9223372036854775807,null}', ('é', null, '-infinity'), '0044-03-15 BC', 'x');
  insert into numbers values
    (1, 'Infinity', 'Infinity', '-Infinity', 4294967295, 'x', '{1,2}', '{9223372036854775807}', '{a,b}', '{"a": 1}', '{1}'),
    (2, 'NaN', 'NaN', 'NaN', 7, null, '{3}', '{3}', '{c}', null, null),
    (3, 0.1, 0.1, 0.1, 7, 'y', null, null, null, null, null);
  insert into counted values (1, 2), (2, 2147483647);
  insert into options values (1, 'a=>1, "b c"=>null, "q\\"\\\\"=>"é, =>"', array['a=>1'::public.hstore], '');
`;

describe('values that few columns have', () => {
  let shop: Shop;
  before(async () => {
    shop = await openShop('');
    await shop.test.database.pool.query('create extension hstore schema public');
    await shop.sql(DDL);
  });
  after(() => shop.close());

  const ids = async (filter: string, table = 'numbers'): Promise<number[]> => {
    const data = await shop.data(`query ($filter: String) { rows: ${table}(filter: $filter) { id } }`, {
      filter,
    });
    return (data.rows as unknown as { id: string }[]).map(({ id }) => Number(id));
  };
  const errorOf = async (query: string, variables?: Record<string, unknown>) =>
    (await shop.ask(query, variables)).errors?.[0]?.extensions;

  const KEYS = {
    lists: ['tags'],
    placed: ['p'],
    jsons: ['j'],
    chunks: ['parts'],
    emails: ['m'],
    feelings: ['f'],
    vectors: ['v'],
    several: ['ns', 'p', 'd'],
  };
  for (const [table, keys] of Object.entries(KEYS)) {
    it(`a row of "${table}" is changed, deleted and created by its key as it is returned`, async () => {
      const key = ((await shop.data(`{ ${table} { ${keys.join(' ')} } }`))[table] as unknown as Json[])[0]!;
      for (const text of Object.values(key)) expect(text).to.be.a('string');
      const declared = keys.map((name) => `$${name}: ID!`).join(', ');
      const given = keys.map((name) => `${name}: $${name}`).join(', ');
      const changed = await shop.data(
        `mutation (${declared}) { row: update_${table}(${given}, input: { note: "y" }) { ${keys.join(' ')} note } }`,
        { ...key },
      );
      expect(changed.row).to.deep.equal({ ...key, note: 'y' });
      const deleted = await shop.data(
        `mutation (${declared}) { row: delete_${table}(${given}) { ${keys.join(' ')} } }`,
        { ...key },
      );
      expect(deleted.row).to.deep.equal(key);
      const created = await shop.data(
        `mutation ($row: ${table}Input!) {
          a: create_${table}(input: $row) { ${keys.join(' ')} note }
          b: create_${table}(input: $row, onconflict: update) { ${keys.join(' ')} note }
          c: create_many_${table}(input: [$row], onconflict: update) { ${keys.join(' ')} note }
        }`,
        { row: { ...key, note: 'z' } },
      );
      const row = { ...key, note: 'z' };
      expect(created).to.deep.equal({ a: row, b: row, c: [row] });
    });
  }

  it('does not take a composite value that holds nulls for null', async () => {
    await shop.sql(`insert into placed values (row(null, null, null), 'z'), (row('a', null, null), 'z');
      insert into visits values (1, row(null, null, null)), (2, row('a', null, null)), (3, null)`);
    const found = async (filter: string) =>
      (await shop.data('query ($f: String) { visits(filter: $f) { id } }', { f: filter })).visits;
    expect(await found('p is null')).to.deep.equal([{ id: '3' }]);
    expect(await found('p != null')).to.deep.equal([{ id: '1' }, { id: '2' }]);
    for (const [p, id] of Object.entries({ '(,,)': '1', '(a,,)': '2' })) {
      const { row } = await shop.data(
        'mutation ($p: ID!) { row: update_placed(p: $p, input: { note: "u" }) { note visits_collection { id } } }',
        { p },
      );
      expect(row).to.deep.equal({ note: 'u', visits_collection: [{ id }] });
    }
    await shop.sql('truncate visits, placed');
  });

  it('refuses members that a composite type does not have, at whatever depth', async () => {
    const wrong = { no: 5 };
    const given = [
      { p: wrong },
      { ps: [null, wrong] },
      { l: { target: wrong } },
      { l: { via: [{ street: 'a' }, wrong] } },
      { ls: [{}, { target: wrong }] },
      { v: { p: wrong } },
    ];
    const create = 'mutation ($i: tripsInput) { create_trips(input: $i) { id } }';
    const createMany = 'mutation ($i: tripsInput!) { create_many_trips(input: [$i]) { id } }';
    const update = 'mutation ($i: tripsInput) { update_trips(id: 1, input: $i) { id } }';
    await shop.data(create, { i: { id: 1 } });
    for (const row of given) {
      for (const [query, key] of [
        [create, { id: 2 }],
        [createMany, { id: 2 }],
        [update, {}],
      ] as const) {
        expect(await errorOf(query, { i: { ...key, ...row } }), JSON.stringify(row)).to.include({
          code: 'BAD_USER_INPUT',
          column: Object.keys(row)[0],
          hint: 'Did you mean "No"?',
        });
      }
    }
    const { body } = await shop.ask(create, { i: { id: 3, p: { Street: 'a' } } });
    expect(body).to.include('p has no member \\"Street\\".');
    const row = {
      p: { No: 5 },
      ps: ['(a,1,)'],
      l: { via: [{ No: 1 }], target: { at: 'infinity' }, km: 1.5 },
      v: { p: {} },
    };
    await shop.data(update, { i: row });
    expect((await shop.data('{ trips { p } }')).trips).to.deep.equal([
      { p: { street: null, No: 5, at: null } },
    ]);
  });

  it('creates many rows with the same JSON and bytes as one', async () => {
    const row = {
      j: { '': ['\u0000', 1.5, null] },
      b: [[1], {}],
      js: ['\u0000', [1, [2]], null],
      bs: [
        [1, 2],
        [3, 4],
      ],
      bytes: 'AP8=',
      parts: ['AP8=', null, ''],
    };
    const columns = Object.keys(row).join(' ');
    const response = await shop.data(
      `mutation ($a: settingsInput!, $b: settingsInput!) {
        one: create_settings(input: $a) { ${columns} }
        many: create_many_settings(input: [$b]) { ${columns} }
      }`,
      { a: { id: 1, ...row }, b: { id: 2, ...row } },
    );
    expect(response).to.deep.equal({ one: row, many: [row] });
    const { rows } = await shop.test.database.pool.query(
      `select count(distinct (s.j::text, s.b, s.js::text, s.bs, s.bytes, s.parts))::int as kinds
       from ${shop.tenant.schema}.settings s`,
    );
    expect(rows).to.deep.equal([{ kinds: 1 }]);
  });

  const FILTERS: readonly (readonly [filter: string, ids: readonly number[]])[] = [
    ["n = 'Infinity'", [1]],
    ["n < 'Infinity'", [3]],
    ["n = 'NaN'", [2]],
    ["f8 = '+infinity'", [1]],
    ["f4 = '-Infinity'", [1]],
    ["f4 > '-inf'", [2, 3]],
    ["n in ['Infinity', 0.1]", [1, 3]],
    ['coalesce(f4, 0.1) = 0.1', [3]],
    ["coalesce(c, 'x') = 'x'", [1, 2]],
    ["c in ['y']", [3]],
    ["c = 'xy'", []],
    ['ints = [1, 2]', [1]],
    ['ints = [1, 3000000000]', []],
    ["ints = ['1', '2']", [1]],
    ['longs = [9223372036854775807]', [1]],
    ['longs != [9223372036854775808]', [1, 2]],
    ['coalesce(ints, [4], [5000000000]) = [4]', [3]],
    ["words = ['a', 'b']", [1]],
    ["words = ['a', 'b234567890']", []],
    ["overlaps(words, ['b', 'z'])", [1]],
  ];
  for (const [filter, expected] of FILTERS) {
    it(`${filter} is true of ${expected.length} row(s)`, async () => {
      expect(await ids(filter)).to.deep.equal(expected);
    });
  }

  it('finds rows by an enum below a domain, a list of a domain, and a vector', async () => {
    const data = await shop.data(`{
      a: feelings(filter: "f = 'happy' and f != 'sad'") { f }
      b: feelings(filter: "f in ['happy'] and f between 'sad' and 'happy'", ordering: "f desc") { f }
      c: emails(filter: "m = ['a@x', 'b@x'] and 'a@x' in m") { m }
      d: vectors(filter: "v = '1 2 3'") { v }
      Aggregates { max(subquery: "{ feelings { f } }") }
    }`);
    const f = [{ f: 'happy' }];
    expect(data).to.deep.equal({
      a: f,
      b: f,
      c: [{ m: '{a@x,b@x}' }],
      d: [{ v: '1 2 3' }],
      Aggregates: { max: [{ max: 'happy' }] },
    });
  });

  it('takes a list of lists by a domain as text', async () => {
    const all = '{"{1,2}","{}"}';
    const written = await shop.data(
      `mutation ($shifts: String) {
        a: update_weeks(id: 1, input: { shifts: $shifts }) { shifts }
        b: create_many_weeks(input: [{ id: 3, shifts: $shifts }]) { shifts }
      }`,
      { shifts: all },
    );
    expect(written).to.deep.equal({ a: { shifts: all }, b: [{ shifts: all }] });
    expect(await ids('shifts is null', 'weeks')).to.deep.equal([2]);
    expect(await ids(`shifts = '${all}'`, 'weeks')).to.deep.equal([1, 3]);
  });

  it('takes lists of boxes', async () => {
    const boxes = ['(1,1),(0,0)', '(3,3),(2,2)'];
    const written = await shop.data(
      `mutation ($boxes: [String]) {
        a: create_plans(input: { id: 1, boxes: $boxes }) { boxes }
        b: create_many_plans(input: [{ id: 2, boxes: $boxes }]) { boxes }
      }`,
      { boxes },
    );
    expect(written).to.deep.equal({ a: { boxes }, b: [{ boxes }] });
  });

  it('refuses to look for a list of json among others', async () => {
    const found = await errorOf('query ($f: String) { numbers(filter: $f) { id } }', { f: "js in [['{}']]" });
    expect(found).to.include({ code: 'FILTER_TYPE' });
  });

  it('keeps one row for each oid and "char"', async () => {
    const { Aggregates: found } = await shop.data(`{ Aggregates {
      o: count(subquery: "{ numbers { id o } }", distincton: "o")
      c: count(subquery: "{ numbers { id c } }", distincton: "c")
    } }`);
    expect(found).to.deep.equal({
      o: [
        { count: 2, o: 7 },
        { count: 1, o: 4294967295 },
      ],
      c: [
        { count: 1, c: 'x' },
        { count: 1, c: 'y' },
        { count: 1, c: null },
      ],
    });
  });

  it('says which json no comparison goes with', async () => {
    await shop.sql(`insert into numbers (id, j) values (9, '{"a": "\\u0000"}')`);
    const found = await errorOf('query ($f: String) { numbers(filter: $f) { id } }', { f: `j = '{"a": 1}'` });
    expect(found).to.include({ code: 'FILTER_TYPE' });
    expect(found?.['hint']).to.include('\\u0000').and.include('text(column)');
    expect(await ids(`text(j) = '{"a": 1}'`)).to.deep.equal([1]);
    await shop.sql('delete from numbers where id = 9');
  });

  it('says that an overflow may be that of a view or a virtual column', async () => {
    expect((await errorOf('{ computed { thousand } }'))?.['hint']).to.include('virtual column');
  });

  it('shows each hstore as text, in lists too, and takes it back', async () => {
    const [row] = (await shop.data('{ options { h hs Odd__name } }')).options as unknown as Json[];
    expect(row).to.deep.equal({
      h: '"a"=>"1", "b c"=>NULL, "q\\"\\\\"=>"é, =>"',
      hs: ['"a"=>"1"'],
      Odd__name: '',
    });
    const created = await shop.data(
      'mutation ($input: optionsInput) { create_options(input: $input) { h hs Odd__name } }',
      { input: { id: 2, ...row } },
    );
    expect(created.create_options).to.deep.equal(row);
  });

  it('evaluates conditions on rows with hstore', async () => {
    await shop.data('mutation { update_options(id: 1, input: { hs: [] }) { id } }');
    const event = (await shop.events()).findLast(({ target }) => target === 'options');
    const check = (condition: string): Promise<unknown> =>
      shop.engine.evaluateCondition(shop.tenant.tenantid, shop.tenant.schema, 'options', condition, [
        { old: null, new: JSON.stringify(event!.new) },
      ]);
    expect(await check('new.id = 1')).to.deep.equal([true]);
    expect(await check(`new.h = '"a"=>"1", "b c"=>NULL, "q\\\\"\\\\\\\\"=>"é, =>"'`)).to.deep.equal([true]);
    expect(await check("new.Odd__name = ''")).to.deep.equal([true]);
    expect(await check('old is null and new.h is not null')).to.deep.equal([true]);
  });

  it('writes rows whose columns are named like parts of the statements', async () => {
    const prior = { street: 's', No: 1, at: null };
    const row = {
      nid: 1,
      t: '24:00:00',
      changed: 5,
      prior,
      written: 'w',
      written_0: 'w0',
      given: 'g',
      gone: true,
      p: 1,
      r: 2,
      row: 3,
    };
    const all = Object.keys(row).join(' ');
    const response = { ...row, nid: '1' };
    await shop.events();
    const written = await shop.data(
      `mutation ($row: nodeInput!) {
        a: create_node(input: $row) { ${all} }
        b: update_node(nid: 1, input: { gone: false }) { ${all} }
        c: create_node(input: $row, onconflict: update) { ${all} }
        d: create_many_node(input: [$row], onconflict: update) { ${all} }
        e: delete_node(nid: 1) { ${all} }
        f: create_many_node(input: [$row]) { ${all} }
      }`,
      { row },
    );
    const kept = { ...row, gone: false };
    expect(written).to.deep.equal({
      a: response,
      b: { ...response, gone: false },
      c: response,
      d: [response],
      e: response,
      f: [response],
    });
    const events = await shop.events();
    expect(events.map(({ operation, old, new: now }) => [operation, old, now])).to.deep.equal([
      ['insert', null, row],
      ['update', row, kept],
      ['update', kept, row],
      ['update', row, row],
      ['delete', row, null],
      ['insert', null, row],
    ]);
  });
});
