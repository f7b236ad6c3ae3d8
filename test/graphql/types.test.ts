import { expect } from 'chai';
import { openShop, type Shop } from './support/shop.js';

/** PostgreSQL type, what a client sends, and the JSON text it gets back (the same where left out). */
const ROUND_TRIPS: readonly (readonly [type: string, sent: unknown, json?: string])[] = [
  ['smallint', -7],
  ['integer', 2147483647],
  ['integer', '42', '42'],
  ['bigint', '9007199254740993', '9007199254740993'],
  ['bigint', 12],
  ['real', 1.5],
  ['double precision', 0.1],
  ['double precision', 'NaN', '"NaN"'],
  ['numeric', '123456789012345678901234567890.123456789', '123456789012345678901234567890.123456789'],
  ['numeric(8, 2)', 1.5, '1.50'],
  ['money', '12.50', '"$12.50"'],
  ['boolean', false],
  ['text', 'a "quoted"\\ \n line, \u2028 and 😀'],
  ['varchar(20)', ''],
  ['char(3)', 'ab', '"ab "'],
  ['"char"', 'x'],
  ['uuid', '0b0c8f6e-57a5-4c6c-9a57-0f8f6e0b0c8f'],
  ['date', '2026-02-28'],
  ['time', '23:59:58.123'],
  ['timetz', '23:59:58+02', '"23:59:58+02"'],
  ['date', 'infinity'],
  ['timestamp', '2026-01-02T03:04:05.678'],
  ['timestamptz', '2026-01-02T03:04:05+02:00', '"2026-01-02T01:04:05+00:00"'],
  ['timestamptz', 'infinity', '"infinity"'],
  ['interval', 'P1DT2H', '"P1DT2H"'],
  ['json', { b: [1, null, 'x'], a: '"' }],
  ['jsonb', ['x', { y: 1.5 }], '["x", {"y": 1.5}]'],
  ['bytea', Buffer.from([0, 1, 254, 255]).toString('base64')],
  ['bytea', Buffer.alloc(100, 7).toString('base64')],
  ['bytea', 'AAH+ /w', '"AAH+/w=="'],
  ['mood', 'so so'],
  ['inet', '10.0.0.1/8'],
  ['inet', '10.0.0.1'],
  ['inet[]', ['::1', '10.0.0.0/8']],
  ['cidr', '10.0.0.0/8'],
  ['macaddr', '08:00:2b:01:02:03'],
  ['oid', 4294967295],
  ['name', 'a name'],
  ['xml', '<a b="c">é</a>'],
  ['int4range', '[1,5)'],
  ['int8multirange', '{[1,5),[7,9)}'],
  ['daterange', '[2026-01-01,2026-02-01)'],
  ['numrange', '(,1.5]'],
  ['tstzrange', '["2026-01-02 03:04:05+00",)'],
  ['point', '(1,2)'],
  ['box', '(3,4),(1,2)'],
  ['polygon', '((0,0),(1,1),(2,0))'],
  ['bit(3)', '101'],
  ['varbit(8)', '10'],
  ['tsquery', "'a' & 'b'"],
  ['jsonpath', '$."a"'],
  ['tsvector', "'a' 'b'"],
  ['small_int', 5],
  ['tiny_int', 5],
  ['small_int[]', [5, null]],
  ['tags', ['a', 'b']],
  ['pair', { x: 1, y: 'z' }],
  ['pair', '(1,"a b")', '{"x":1,"y":"a b"}'],
  ['pair[]', [{ x: 1, y: 'z' }, null, { x: null, y: '"' }]],
  ['pair[]', ['(1,z)'], '[{"x":1,"y":"z"}]'],
  ['pair[][]', [[{ x: 1, y: 'z' }], [{ x: 2, y: '' }]]],
  ['integer[]', [1, null, 3]],
  ['bigint[]', ['9007199254740993'], '[9007199254740993]'],
  ['date[]', ['2026-02-28', null]],
  ['interval[]', ['P1D']],
  ['money[]', ['1.50'], '["$1.50"]'],
  ['text[]', ['a,b', '"', '{}', null]],
  ['numeric[]', ['1.50', 2], '[1.50,2]'],
  ['boolean[]', [true, false]],
  ['timestamptz[]', ['2026-01-02T03:04:05Z'], '["2026-01-02T03:04:05+00:00"]'],
  ['mood[]', ['happy', 'so so']],
  ['jsonb[]', [{ a: 1 }, [2]], '[{"a": 1},[2]]'],
  ['bytea[]', ['AAH+', null]],
  ['bytea[]', []],
  ['text[]', []],
  ['uuid[]', ['0b0c8f6e-57a5-4c6c-9a57-0f8f6e0b0c8f']],
];

const DDL = `
  create type mood as enum ('happy', 'so so');
  create type pair as (x int, y text);
  create domain small_int as int check (value < 10);
  create domain tiny_int as small_int check (value < 6);
  create domain tags as text[];
  ${ROUND_TRIPS.map(([type], index) => `create table t${index} (id int generated always as identity primary key, v ${type});`).join('\n')}
  create table derived (
    id bigint generated always as identity primary key,
    amount numeric, twice numeric generated always as (amount * 2) stored, made text default 'now'
  );
  create table bytes (id bytea primary key, list bytea[] not null default '{}', part_of bytea references bytes);
  create table checked (id int primary key, v small_int[], one small_int, other tiny_int);
  create table keys (a uuid, b date, c text, d boolean, primary key (a, b, c, d));
`;

describe('types of columns', () => {
  let shop: Shop;
  before(async () => (shop = await openShop(DDL)));
  after(() => shop.close());

  ROUND_TRIPS.forEach(([type, sent, json = JSON.stringify(sent)], index) => {
    const table = `t${index}`;
    it(`${type}: ${JSON.stringify(sent).slice(0, 60)} is returned as ${json.slice(0, 60)}`, async () => {
      const expected = (rows: string): string => `{"data":{"x":${rows}}}`;
      const input = `$input: ${table}Input`;
      const one = await shop.ask(`mutation (${input}) { x: create_${table}(input: $input) { v } }`, {
        input: { v: sent },
      });
      expect(compact(one.body)).to.equal(compact(expected(`{"v":${json}}`)));
      const many = await shop.ask(
        `mutation ($input: [${table}Input!]!) { x: create_many_${table}(input: $input) { v } }`,
        {
          input: [{ v: sent }, { v: null }],
        },
      );
      expect(compact(many.body)).to.equal(compact(expected(`[{"v":${json}},{"v":null}]`)));
      const updated = await shop.ask(
        `mutation (${input}) { x: update_${table}(id: 3, input: $input) { v } }`,
        {
          input: { v: sent },
        },
      );
      expect(compact(updated.body)).to.equal(compact(expected(`{"v":${json}}`)));
      const read = await shop.ask(`{ x: ${table} { v } }`);
      expect(compact(read.body)).to.equal(compact(expected(`[{"v":${json}},{"v":${json}},{"v":${json}}]`)));
    });
  });

  it('returns 64-bit integers and decimals as text on demand', async () => {
    await shop.data('mutation { create_derived(input: { amount: 12345678901234567890.10 }) { id } }');
    const { body } = await shop.ask(
      '{ derived { id amount exact: amount(cast: text) twice(cast: text) made } }',
    );
    expect(body).to.equal(
      '{"data":{"derived":[{"id":"1","amount":12345678901234567890.10,"exact":"12345678901234567890.10","twice":"24691357802469135780.20","made":"now"}]}}',
    );
  });

  it('rejects generated columns', async () => {
    const reply = await shop.ask('mutation { create_derived(input: { twice: 1 }) { id } }');
    expect(reply.errors![0]!.extensions.code).to.equal('GRAPHQL_VALIDATION');
  });

  it('accepts keys of any type', async () => {
    const key = 'a: "0b0c8f6e-57a5-4c6c-9a57-0f8f6e0b0c8f", b: "2026-01-01", c: "x\\"y", d: "true"';
    const row = { a: '0b0c8f6e-57a5-4c6c-9a57-0f8f6e0b0c8f', b: '2026-01-01', c: 'x"y', d: 'true' };
    const created = await shop.data(`mutation { create_keys(input: { ${key} }) { a b c d } }`);
    expect(created.create_keys).to.deep.equal(row);
    expect((await shop.data(`mutation { delete_keys(${key}) { a b c d } }`)).delete_keys).to.deep.equal(row);
  });

  it('reports the columns of a domain whose check a value breaks', async () => {
    for (const mutation of ['create_checked(input: $row)', 'create_many_checked(input: [$row])']) {
      const { errors } = await shop.ask(`mutation ($row: checkedInput!) { ${mutation} { id } }`, {
        row: { id: 2, one: 30 },
      });
      expect(errors?.[0]?.message).to.equal('The row violates small_int_check of checked (v, one).');
      expect(errors?.[0]?.extensions).to.include({ code: 'CHECK_VIOLATION', column: 'v, one' });
    }
  });

  it('accepts binary keys as they are returned, and in the hexadecimal form of PostgreSQL', async () => {
    const asked = await shop.data(`mutation {
      a: create_bytes(input: { id: "aGk=" }) { id list }
      b: create_many_bytes(input: [{ id: "\\\\x00ff", part_of: "aGk=" }]) { id part_of bytes { id } }
      c: update_bytes(id: "aGk=", input: { list: ["AA"] }) { id list }
      d: delete_bytes(id: "\\\\x00FF") { id }
    }`);
    expect(asked).to.deep.equal({
      a: { id: 'aGk=', list: [] },
      b: [{ id: 'AP8=', part_of: 'aGk=', bytes: { id: 'aGk=' } }],
      c: { id: 'aGk=', list: ['AA=='] },
      d: { id: 'AP8=' },
    });
  });

  for (const text of ['a', 'aGkab', '=', 'aGk=a']) {
    it(`refuses ${JSON.stringify(text)}, which is not base64, in every mutation`, async () => {
      for (const mutation of [
        'create_bytes(input: { id: $text })',
        'create_many_bytes(input: [{ id: $text }])',
        'update_bytes(id: $text, input: { list: [] })',
        'delete_bytes(id: $text)',
      ]) {
        const { errors } = await shop.ask(`mutation ($text: ID!) { ${mutation} { id } }`, { text });
        expect(errors?.[0]?.message, mutation).to.equal('id is not base64.');
      }
    });
  }

  it('checks the domain of an array, and filters by it', async () => {
    const { errors } = await shop.ask('mutation { create_checked(input: { id: 1, v: [3, 30] }) { id } }');
    expect(errors?.[0]?.extensions).to.include({
      code: 'CHECK_VIOLATION',
      table: 'checked',
      column: 'v, one',
    });
    await shop.data('mutation { create_checked(input: { id: 1, v: [3, 4] }) { id } }');
    const found = await shop.data(
      '{ a: checked(filter: "v = [3, 4]") { id } b: checked(filter: "3 in v", ordering: "v desc") { v } }',
    );
    expect(found).to.deep.equal({ a: [{ id: '1' }], b: [{ v: [3, 4] }] });
  });

  it('refuses a key with half of a surrogate pair, which would name the row of another character', async () => {
    await shop.sql("create table word (id text primary key, n int); insert into word values (U&'\\FFFD', 1)");
    await shop.engine.introspect(shop.tenant.tenantid, shop.tenant.schema);
    const mutation = 'mutation ($id: ID!) { update_word(id: $id, input: { n: 2 }) { n } }';
    const { errors } = await shop.ask(mutation, { id: '\ud800' });
    expect(errors?.[0]?.message).to.equal('id holds half of a surrogate pair, which is no character.');
    expect((await shop.data('{ word { n } }')).word).to.deep.equal([{ n: 1 }]);
  });

  it('accepts columns named like properties of every object', async () => {
    await shop.sql('create table odd (id int primary key, "constructor" text, "toString" text)');
    await shop.engine.introspect(shop.tenant.tenantid, shop.tenant.schema);
    for (const input of [{ id: 1 }, { id: 2, constructor: 'x' }]) {
      const one = await shop.data(
        'mutation ($input: oddInput!) { create_odd(input: $input) { constructor toString } }',
        { input },
      );
      expect(one.create_odd).to.deep.equal({ constructor: input.id === 1 ? null : 'x', toString: null });
    }
    const many = await shop.data(
      'mutation ($input: [oddInput!]!) { create_many_odd(input: $input) { id } }',
      { input: [{ id: 3 }, { id: 4, toString: 'y' }] },
    );
    expect(many.create_many_odd).to.have.length(2);
  });

  it('rejects half of a surrogate pair, naming the column', async () => {
    const index = ROUND_TRIPS.findIndex(([type]) => type === 'text');
    const input = { v: 'a\ud800b' };
    for (const [field, type, given] of [
      ['create', `t${index}Input!`, input],
      ['create_many', `[t${index}Input!]!`, [input]],
    ] as const) {
      const reply = await shop.ask(
        `mutation ($input: ${type}) { ${field}_t${index}(input: $input) { id } }`,
        { input: given },
      );
      expect(reply.errors![0]!.extensions, reply.body).to.include({ code: 'BAD_USER_INPUT', column: 'v' });
    }
  });

  it('accepts JSON 200 levels deep, and rejects deeper with a clear message', async () => {
    const index = ROUND_TRIPS.findIndex(([type]) => type === 'jsonb');
    const create = (levels: number): ReturnType<Shop['ask']> =>
      shop.ask(`mutation ($v: GenericScalar) { create_t${index}(input: { v: $v }) { id } }`, {
        v: JSON.parse('['.repeat(levels) + ']'.repeat(levels)),
      });
    expect((await create(200)).errors).to.equal(undefined);
    for (const levels of [201, 100_000]) {
      const [error] = (await create(levels)).errors!;
      expect(error!.extensions, String(levels)).to.include({ code: 'BAD_USER_INPUT' });
      expect(error!.message).to.contain('more than 200 levels');
    }
  });

  it('names the column of an unknown enum label', async () => {
    const index = ROUND_TRIPS.findIndex(([type]) => type === 'mood');
    const reply = await shop.ask(`mutation { create_t${index}(input: { v: "sad" }) { id } }`);
    expect(reply.errors![0]!.extensions).to.include({ code: 'BAD_USER_INPUT', column: 'v' });
  });
});

/** Spaces that PostgreSQL puts into json values mean nothing. */
function compact(json: string): string {
  return json.replace(/([:,]) /g, '$1');
}
