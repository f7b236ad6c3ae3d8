import { expect } from 'chai';
import { openCaptureFixture, type CaptureFixture } from './captureFixture.js';

/** A value of each type that sessions show in ways of their own, or that JSON can hold in several. */
const COLUMNS = `
  i8 int8 default 9223372036854775807, num numeric default 1.10, nan numeric default 'NaN', f4 float4 default 0.1, f8 float8 default 1e300,
  inf float8 default '-Infinity', at timestamptz default '2026-06-01 12:34:56.789+02', ats timestamptz[] default '{"2026-06-01 00:00+00",infinity}',
  local timestamp default '2026-06-01 12:34:56.7', d date default '2026-06-01', bc date default '0044-03-15 BC', t time default '12:34:56.7', tz timetz default '12:34:56+02',
  iv interval default '1 year 2 days 03:04:05.6', b bytea default '\\x00ff5c', flag boolean default true, words text default E'a "quoted"\\\\ \\n\\t\\u00e9',
  js json default '{"b" : 1.10, "a":1e2}', jb jsonb default '{"b": 1.10, "a": 1e2}', u uuid default '00000000-0000-0000-0000-000000000001',
  m money default 12.5, r int4range default '[1,5)', net inet default '10.0.0.1/8', mood mood default 'glad', pair pair default '(1,glad)',
  small small default 3, made text generated always as (upper(flag::text)) stored, nothing text`;
const DDL = `
  create type mood as enum ('glad', 'sad'); create type pair as (n int, mood mood); create domain small as int check (value < 10);
  create table captured (id int primary key, ${COLUMNS});
  create table plain (id int primary key, ${COLUMNS});
  create table two (a text, b timestamptz, primary key (b, a));
  create table noted (id text primary key, js json);
  create table composed (a text, b int, js json, primary key (a, b));
  create table other (a text, b timestamptz, primary key (b, a));
`;

describe('events of triggers and of the API', () => {
  let fixture: CaptureFixture;
  before(async () => (fixture = await openCaptureFixture(DDL, ['captured', 'two', 'noted', 'composed'])));
  after(() => fixture.close());
  beforeEach(() => fixture.events());

  const rows = async (): Promise<readonly string[]> =>
    (await fixture.events()).map(({ operation, key, old, new: changed }) =>
      [operation, key, String(old), String(changed)].join('\n'),
    );

  it("are byte-identical, whatever the writer's settings", async () => {
    const { shop, writer } = fixture;
    for (const table of ['plain', 'captured']) {
      await shop.data(
        `mutation { create_${table}(input: {id: 1}) { id } update_${table}(id: 1, input: {id: 2, num: 2.50}) { id } delete_${table}(id: 2) { id } }`,
      );
    }
    const said = await rows();
    expect(said).to.have.length(6);
    await writer.query(
      'insert into captured (id) values (1); update captured set id = 2, num = 2.50; delete from captured',
    );
    const sql = await rows();
    expect(sql).to.deep.equal(said.slice(0, 3));
    expect(said.slice(3)).to.deep.equal(said.slice(0, 3));
  });

  it('identify rows with composite keys identically', async () => {
    const { shop } = fixture;
    for (const table of ['two', 'other']) {
      await shop.data(
        `mutation { create_${table}(input: {a: "x \\"y\\"", b: "2026-01-01T00:00:00.5Z"}) { a } }`,
      );
    }
    const [captured, plain] = await rows();
    expect(captured).to.equal(plain);
    expect(captured).to.contain('{"b" : "2026-01-01T00:00:00.5+00:00", "a" : "x \\"y\\""}');
  });

  it('hold JSON that PostgreSQL stores and can not look into, with the exact key', async () => {
    const js = String.raw`{"a": "\u0000", "b": "\\u0000"}`;
    const text = String.raw`\u0000`;
    const { writer } = fixture;
    await writer.query('insert into noted values ($1, $2)', [text, js]);
    await writer.query('update noted set js = js');
    await writer.query('delete from noted');
    await writer.query('insert into composed values ($1, 1, $2)', [text, js]);
    const events = await fixture.events();
    expect(events.map(({ operation }) => operation)).to.deep.equal(['insert', 'update', 'delete', 'insert']);
    for (const event of events) {
      expect(JSON.parse(event.key)).to.include(event.key.includes('"id"') ? { id: text } : { a: text, b: 1 });
      expect(event.old ?? event.new).to.contain(js);
    }
  });
});
