import { expect } from 'chai';
import { identifier, sql, toStatement } from '../../../src/db/sql/sql.js';
import { createAliasSource, type RowAccess } from '../../../src/graphql/filter/rows/scope.js';
import { compileOrdering } from '../../../src/graphql/ordering/compileOrdering.js';
import { parseOrdering } from '../../../src/graphql/ordering/parseOrdering.js';
import { expectError } from '../filter/expectError.js';
import { EVERYTHING, openShop, SHOP, shopTable, type Shop } from '../filter/shop.js';

function compile(items: string[], table = 'orders', access: RowAccess = EVERYTHING) {
  const scope = {
    catalog: SHOP,
    access,
    aliases: createAliasSource(),
    table: shopTable(table),
    alias: identifier('r'),
  };
  return compileOrdering(parseOrdering(items), scope);
}

describe('ordering', () => {
  let shop: Shop;
  before(async () => (shop = await openShop()));
  after(() => shop.db.drop());

  async function ids(items: string[], table = 'orders', access: RowAccess = EVERYTHING): Promise<number[]> {
    const clause = compile(items, table, access);
    const statement = toStatement(sql`select r.id from ${identifier('shop', table)} r${clause}`);
    return (await shop.db.database.pool.query<{ id: number }>(statement.text)).rows.map((row) => row.id);
  }

  const cases: [items: string[], ids: number[]][] = [
    [[], [1, 2, 3, 4]],
    [
      ['', '  '],
      [1, 2, 3, 4],
    ],
    [['id desc'], [4, 3, 2, 1]],
    [['total'], [1, 2, 3, 4]],
    [['total desc'], [4, 3, 2, 1]],
    [['total DESC NULLS LAST'], [3, 2, 1, 4]],
    [['total ASC NULLS FIRST'], [4, 1, 2, 3]],
    [['total nulls first'], [4, 1, 2, 3]],
    [['status'], [2, 1, 3, 4]],
    [['status, id desc'], [2, 3, 1, 4]],
    [
      ['status', 'id desc'],
      [2, 3, 1, 4],
    ],
    [
      ['customer.name desc nulls last', 'total desc'],
      [3, 2, 1, 4],
    ],
    [['customer.parent.name'], [3, 1, 2, 4]],
    [['`order` desc nulls last'], [3, 2, 1, 4]],
    [['like'], [1, 2, 3, 4]],
    [['order desc nulls last'], [3, 2, 1, 4]],
    [['mood desc nulls last'], [3, 2, 1, 4]],
    [['tags'], [3, 2, 1, 4]],
  ];
  for (const [items, expected] of cases) {
    it(JSON.stringify(items), async () => expect(await ids(items)).to.deep.equal(expected));
  }

  it('appends the primary key, unless it is named', () => {
    expect(toStatement(compile(['status'])).text).to.equal(' order by "r"."status", "r"."id"');
    expect(toStatement(compile(['id desc', 'status'])).text).to.equal(
      ' order by "r"."id" desc, "r"."status"',
    );
    expect(toStatement(compile(['label_id'], 'order_label')).text).to.equal(
      ' order by "r"."label_id", "r"."order_id"',
    );
  });

  it('is empty for a view without an ordering', () => {
    const view = { ...shopTable('orders'), kind: 'view' as const, primaryKey: [] };
    const scope = {
      catalog: SHOP,
      access: EVERYTHING,
      aliases: createAliasSource(),
      table: view,
      alias: identifier('r'),
    };
    expect(toStatement(compileOrdering(undefined, scope)).text).to.equal('');
    expect(toStatement(compileOrdering(parseOrdering(['id']), scope)).text).to.equal(' order by "r"."id"');
  });

  it('unreadable values sort as null', async () => {
    const noAda: RowAccess = {
      predicate: (table, alias) => (table.name === 'customer' ? sql`${alias}.name <> 'Ada'` : 'all'),
    };
    expect(await ids(['customer.name nulls last', 'id desc'], 'orders', noAda)).to.deep.equal([3, 4, 2, 1]);
    const noCustomers: RowAccess = { predicate: (table) => (table.name === 'customer' ? 'none' : 'all') };
    expectError('PERMISSION_DENIED', () => compile(['customer.name'], 'orders', noCustomers));
  });

  it('shapes distinguish orderings and ignore spacing', () => {
    const shape = (...items: string[]): string => parseOrdering(items).shape;
    expect(shape('a,b'))
      .to.equal(shape(' a ', 'B'.toLowerCase()))
      .and.to.equal(shape('a ASC', '', 'b asc'));
    const all = [
      shape(),
      shape('a'),
      shape('a desc'),
      shape('a nulls first'),
      shape('a nulls last'),
      shape('a.b'),
      shape('`a.b`'),
      shape('b'),
      shape('a', 'b'),
    ];
    expect(new Set(all).size).to.equal(all.length);
  });

  const refusals: [item: string, message: RegExp, hint?: RegExp][] = [
    ['nme', /no column "nme"/],
    ['stauts', /no column "stauts"/, /"status"/],
    ['customer', /no column "customer"/, /customer\.column/],
    ['item_collection.price', /through a collection/],
    ['data', /json, which has no order/],
    ['spot', /point, which has no order/],
    ['id down', /Expected ASC, DESC/],
    ['id desc asc', /Expected ASC, DESC/],
    ['id nulls', /FIRST or LAST/],
    ['id,', /Expected a column/],
    ['-id', /Expected a column/],
    ['1', /Expected a column/],
    ['id; drop table x', /Unexpected character/],
    ['lower(name)', /Expected ASC, DESC/],
    [Array.from({ length: 33 }, () => 'id').join(), /more than 32/],
    ['x'.repeat(3000), /longer than/],
  ];
  for (const [item, message, hint] of refusals) {
    it(`refuses ${item.slice(0, 40)}`, () => {
      const error = expectError('ORDERING_INVALID', () => compile([item]));
      expect(error.message).to.match(message);
      expect(error.hint).to.match(hint ?? /./);
    });
  }
});
