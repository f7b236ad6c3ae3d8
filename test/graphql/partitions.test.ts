import { expect } from 'chai';
import { openShop, roleWith, type Shop } from './support/shop.js';

const DDL = `
  create table reading (place text, at date, n int check (n < 100), primary key (place, at)) partition by list (place);
  create table reading_north partition of reading for values in ('north') partition by range (at);
  create table reading_north_2026 partition of reading_north for values from ('2026-01-01') to ('2027-01-01');
  -- Its columns are in another order.
  create table reading_south (n int constraint reading_n_check check (n < 100), at date not null, place text not null);
  alter table reading attach partition reading_south for values in ('south');
`;

describe('tables with partitions', () => {
  let shop: Shop;
  before(async () => (shop = await openShop(DDL)));
  after(() => shop.close());
  beforeEach(async () => {
    await shop.sql('truncate reading');
    await shop.events();
  });

  const operations = async () =>
    (await shop.events()).map((event) => [event.operation, event.old, event.new]);
  const north = (n: number) => ({ place: 'north', at: '2026-05-01', n });
  const south = (n: number) => ({ place: 'south', at: '2026-05-01', n });
  const UPSERT = `mutation ($row: readingInput!) {
    create_reading(input: $row, onconflict: update) { n }
  }`;

  it('are inserted into or updated by onconflict', async () => {
    for (const row of [north, south]) {
      await shop.data(UPSERT, { row: row(1) });
      await shop.data(UPSERT, { row: row(2) });
      expect(await operations()).to.deep.equal([
        ['insert', null, row(1)],
        ['update', row(1), row(2)],
      ]);
    }
    const rows = [north(3), { ...north(4), at: '2026-06-01' }, south(5), { ...south(6), at: '2026-06-01' }];
    await shop.data(
      'mutation ($rows: [readingInput!]!) { create_many_reading(input: $rows, onconflict: update) { n } }',
      { rows },
    );
    expect(await operations()).to.deep.equal([
      ['update', north(2), rows[0]],
      ['insert', null, rows[1]],
      ['update', south(2), rows[2]],
      ['insert', null, rows[3]],
    ]);
  });

  it('keep the rows that a policy rule keeps from updates', async () => {
    const clerk = roleWith(
      shop,
      ['insert', 'update'],
      [
        { capabilities: ['insert'], targets: ['reading'] },
        { capabilities: ['update'], targets: ['reading'], filter: 'n < 10' },
      ],
    );
    const codeOf = async (row: unknown) =>
      (await shop.ask(UPSERT, { row }, clerk)).errors?.[0]?.extensions.code;
    expect(await codeOf(north(50))).to.equal(undefined);
    // The row may not be updated, and may not become so.
    expect(await codeOf(north(1))).to.equal('PERMISSION_DENIED');
    expect(await codeOf(south(1))).to.equal(undefined);
    expect(await codeOf(south(20))).to.equal('PERMISSION_DENIED');
  });

  const CREATE = 'mutation ($row: readingInput!) { create_reading(input: $row) { n } }';
  const ERRORS = [
    ['UNIQUE_VIOLATION', north(1), 'A row of reading with this place, at already exists.', 'place, at'],
    [
      'CHECK_VIOLATION',
      { ...south(100), at: '2026-06-01' },
      'The row violates reading_n_check of reading (n).',
      'n',
    ],
    [
      'CHECK_VIOLATION',
      { ...north(1), at: '2020-01-01' },
      'No partition of reading takes the row.',
      undefined,
    ],
    ['NOT_NULL_VIOLATION', { place: 'south' }, 'at of reading must have a value.', 'at'],
  ] as const;
  for (const [code, row, message, column] of ERRORS) {
    it(`are named in errors, not the partition: ${message}`, async () => {
      await shop.data(CREATE, { row: north(1) });
      const error = (await shop.ask(CREATE, { row })).errors?.[0];
      expect(error?.message).to.equal(message);
      expect(error?.extensions).to.include({ code, table: 'reading' });
      expect(error?.extensions['column']).to.equal(column);
    });
  }
});

describe('a table that others inherit from', () => {
  let shop: Shop;
  before(async () => {
    shop =
      await openShop(`create table base (id int primary key, n text); create table derived () inherits (base);
      insert into base values (1, 'a'); insert into derived values (1, 'b'), (2, 'c');`);
  });
  after(() => shop.close());

  it('has the rows of both, and says why none is changed by a key that both have', async () => {
    expect(await shop.data('mutation { row: update_base(id: 2, input: {n: "d"}) { n } }')).to.deep.equal({
      row: { n: 'd' },
    });
    for (const mutation of ['update_base(id: 1, input: {n: "d"})', 'delete_base(id: 1)']) {
      const { errors } = await shop.ask(`mutation { ${mutation} { n } }`);
      expect(errors?.[0]?.extensions['hint']).to.include('if other tables inherit from this one');
    }
    expect((await shop.data('{ base(ordering: "n") { n } }')).base).to.deep.equal([
      { n: 'a' },
      { n: 'b' },
      { n: 'd' },
    ]);
  });
});
