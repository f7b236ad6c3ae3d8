import { expect } from 'chai';
import { Kind, parse, validate, type FieldNode } from 'graphql';
import { GraphQLObjectType, GraphQLSchema } from 'graphql';
import type { ErrorCode } from '../../../src/foundation/errors.js';
import { bind, sql, toStatement } from '../../../src/db/sql/sql.js';
import { aggregateJson } from '../../../src/graphql/aggregates/aggregateJson.js';
import { RequestFilters } from '../../../src/graphql/read/requestFilters.js';
import { AGGREGATES_TYPE } from '../../../src/graphql/aggregates/aggregatesType.js';
import { createAliasSource, type RowAccess } from '../../../src/graphql/filter/rows/scope.js';
import { parseFilter } from '../../../src/graphql/filter/syntax/parser.js';
import { expectError } from '../filter/expectError.js';
import { EVERYTHING, openShop, PRINCIPAL, SHOP, type Shop } from '../filter/shop.js';

const SCHEMA = new GraphQLSchema({
  query: new GraphQLObjectType({ name: 'Query', fields: { Aggregates: { type: AGGREGATES_TYPE } } }),
});

/** The statement of `Aggregates { <field> }`, and what it is bound with. */
function compile(field: string, options: { variables?: Record<string, string>; access?: RowAccess } = {}) {
  const { variables = {}, access = EVERYTHING } = options;
  const names = Object.keys(variables).map((name) => `$${name}: String`);
  const document = parse(`query ${names.length > 0 ? `(${names.join()})` : ''} { Aggregates { ${field} } }`);
  expect(validate(SCHEMA, document)).to.deep.equal([]);
  const [operation] = document.definitions;
  if (operation?.kind !== Kind.OPERATION_DEFINITION) throw new Error('no operation');
  const root = operation.selectionSet.selections[0] as FieldNode;
  const node = root.selectionSet!.selections[0] as FieldNode;
  const piece = aggregateJson(
    {
      catalog: SHOP,
      fragments: new Map(),
      variables,
      access,
      aliases: createAliasSource(),
      filters: new RequestFilters(),
      limits: { defaultLimit: 100, maxLimit: 1000 },
    },
    node,
  );
  const literals = (name: string) => parseFilter(variables[name]!).literals;
  const statement = toStatement(piece);
  return { text: statement.text, values: bind(statement, { variables, literals, principal: PRINCIPAL }) };
}

describe('Aggregates', () => {
  let shop: Shop;
  before(async () => (shop = await openShop()));
  after(() => shop.db.drop());

  async function run(field: string, options: Parameters<typeof compile>[1] = {}): Promise<unknown> {
    const { rows } = await shop.db.database.pool.query<Record<string, string>>({
      ...compile(field, options),
    });
    return JSON.parse(Object.values(rows[0]!)[0]!);
  }

  const cases: [field: string, response: unknown][] = [
    ['count(subquery: "{ orders { id } }")', [{ count: 4 }]],
    ['count(subquery: "query named { orders { total } }")', [{ count: 3 }]],
    ['sum(subquery: "{ orders { total } }")', [{ sum: 60.5 }]],
    ['sum(subquery: "{ orders { qty } }", filter: "id < 3")', [{ sum: 7 }]],
    ['sum(subquery: "{ orders(filter: \\"id < 3\\") { qty } }")', [{ sum: 7 }]],
    [
      'sum(subquery: "query($filter: String) { orders(filter: $filter) { qty } }", filter: "id > 1")',
      [{ sum: 15 }],
    ],
    ['sum(subquery: "{ orders { qty } }", filter: "id > 99")', [{ sum: null }]],
    ['avg(subquery: "{ orders { total } }", filter: "id in [2, 3]")', [{ avg: 25 }]],
    ['min(subquery: "{ orders { day } }")', [{ min: '2023-12-31' }]],
    ['max(subquery: "{ orders { created } }")', [{ max: '2024-02-29T23:30:00+00:00' }]],
    ['max(subquery: "{ orders { mood } }")', [{ max: 'cross' }]],
    ['max(subquery: "{ orders { big } }")', [{ max: 9007199254740992 }]],
    [
      'sum(subquery: "{ orders { total status } }")',
      [
        { sum: 20, status: 'open' },
        { sum: 40.5, status: 'paid' },
        { sum: null, status: null },
      ],
    ],
    [
      'sum(subquery: "{ orders { total customer { country parent_id parent { name } } } }")',
      [
        { sum: 30, customer_country: 'NO', customer_parent_id: 1, customer_parent_name: 'Ada' },
        { sum: 30.5, customer_country: 'SE', customer_parent_id: null, customer_parent_name: null },
        { sum: null, customer_country: null, customer_parent_id: null, customer_parent_name: null },
      ],
    ],
    ['max(subquery: "{ orders { customer { credit } } }")', [{ max: 100.5 }]],
    [
      'count(subquery: "{ item { id o: orders { c: customer { who: name } } } }")',
      [
        { count: 3, o_c_who: 'Ada' },
        { count: 1, o_c_who: 'Bob' },
      ],
    ],
    [
      'count(subquery: "{ orders { id ...k } } fragment k on orders { paid }", ordering: "paid nulls first")',
      [
        { count: 2, paid: null },
        { count: 1, paid: false },
        { count: 1, paid: true },
      ],
    ],
    [
      'count(subquery: "{ item { id orders { status } } }", ordering: ["count desc"], limit: 1)',
      [{ count: 3, orders_status: 'paid' }],
    ],
    [
      'count(subquery: "{ item { id order_id } }", ordering: "count desc, order_id desc", offset: 1)',
      [
        { count: 1, order_id: 3 },
        { count: 1, order_id: 2 },
      ],
    ],
    ['sum(subquery: "{ orders { total status } }", having: "sum > 30")', [{ sum: 40.5, status: 'paid' }]],
    [
      'sum(subquery: "{ orders { total status } }", having: "sum(total) > 30")',
      [{ sum: 40.5, status: 'paid' }],
    ],
    [
      'count(subquery: "{ orders { id status } }", having: "count(*) = 1 and status is not null")',
      [{ count: 1, status: 'open' }],
    ],
    ['sum(subquery: "{ orders { total } }", having: "sum > 1000")', []],
    [
      'max(subquery: "{ item { price order_id id } }", ordering: "order_id, max desc", distincton: "order_id")',
      [
        { max: 5.5, order_id: 1, id: 2 },
        { max: 20, order_id: 2, id: 3 },
        { max: 3, order_id: 3, id: 4 },
      ],
    ],
    [
      'max(subquery: "{ item { price order_id id } }", ordering: "max", distincton: ["order_id"], limit: 2)',
      [
        { max: 3, order_id: 3, id: 4 },
        { max: 5, order_id: 1, id: 1 },
      ],
    ],
    [
      'count(subquery: "{ orders { id } }", filter: "", having: "", ordering: "", distincton: "")',
      [{ count: 4 }],
    ],
  ];
  for (const [field, response] of cases) {
    it(field, async () => expect(await run(field)).to.deep.equal(response));
  }

  it('filter and having as variables: the statement does not depend on their values', async () => {
    const field = 'sum(subquery: "{ orders { total status } }", filter: $f, having: $h)';
    const one = { f: 'id < 3', h: 'sum > 15' };
    const two = { f: 'id < 4', h: 'sum > 30' };
    expect(await run(field, { variables: one })).to.deep.equal([{ sum: 20, status: 'open' }]);
    expect(await run(field, { variables: two })).to.deep.equal([{ sum: 40.5, status: 'paid' }]);
    expect(compile(field, { variables: one }).text).to.equal(compile(field, { variables: two }).text);
  });

  it('only readable rows count, including as keys', async () => {
    const access: RowAccess = {
      predicate: (table, alias) =>
        table.name === 'orders'
          ? sql`${alias}.id <> 3`
          : table.name === 'customer'
            ? sql`${alias}.id <> 1`
            : 'none',
    };
    const field = 'sum(subquery: "{ orders { total customer { name } } }")';
    expect(await run(field, { access })).to.deep.equal([{ sum: 30.5, customer_name: null }]);
    expect(await run('count(subquery: "{ orders { id } }")', { access })).to.deep.equal([{ count: 3 }]);
    expectError('PERMISSION_DENIED', () => compile('count(subquery: "{ item { id } }")', { access }));
    const noCustomers: RowAccess = { predicate: (table) => (table.name === 'customer' ? 'none' : 'all') };
    expectError('PERMISSION_DENIED', () =>
      compile('count(subquery: "{ orders { id customer { name } } }")', { access: noCustomers }),
    );
  });

  it('an error in having does not reveal unreadable rows', async () => {
    // Costly, so that PostgreSQL would rather try the cheap condition first.
    const access: RowAccess = {
      predicate: (_, alias) =>
        sql`case when (select count(*) from shop.item x where x.id > ${alias}.id) >= 0 then ${alias}.id <> 3 end`,
    };
    const field = 'count(subquery: "{ orders { id big } }", having: "sqrt(big) > 2")';
    expect(await run(field, { access })).to.deep.equal([
      { count: 1, big: 5 },
      { count: 1, big: 9007199254740992 },
    ]);
  });

  const refusals: [field: string, code: ErrorCode, message: RegExp][] = [
    ['count', 'BAD_USER_INPUT', /needs a subquery/],
    ['count(subquery: "{ orders { id }")', 'GRAPHQL_SYNTAX', /does not parse/],
    ['count(subquery: "mutation { orders { id } }")', 'GRAPHQL_VALIDATION', /one query/],
    ['count(subquery: "{ a: orders { id } b: orders { id } }")', 'GRAPHQL_VALIDATION', /one field/],
    ['count(subquery: "{ order { id } }")', 'GRAPHQL_VALIDATION', /no table "order"/],
    ['count(subquery: "{ orders }")', 'GRAPHQL_VALIDATION', /names no column/],
    ['count(subquery: "{ orders { idd } }")', 'GRAPHQL_VALIDATION', /no field "idd"/],
    ['count(subquery: "{ orders { id item_collection { id } } }")', 'GRAPHQL_VALIDATION', /collection/],
    ['count(subquery: "{ orders(first: 5) { id } }")', 'GRAPHQL_VALIDATION', /"first" can't be used/],
    ['sum(subquery: "{ orders { status } }")', 'BAD_USER_INPUT', /sum can't be used with text/],
    ['sum(subquery: "{ orders { held } }")', 'BAD_USER_INPUT', /sum can't be used with/],
    ['count(subquery: "{ orders { id raw } }")', 'BAD_USER_INPUT', /group key/],
    ['count(subquery: "{ orders { id spot } }")', 'BAD_USER_INPUT', /group key/],
    ['count(subquery: "{ orders { id count: status } }")', 'BAD_USER_INPUT', /one name/],
    [
      'sum(subquery: "{ orders { total } }", having: "count(*) > 1")',
      'FILTER_TYPE',
      /count is not the aggregate/,
    ],
    [
      'sum(subquery: "{ orders { total } }", having: "total > 1")',
      'FILTER_UNKNOWN_COLUMN',
      /no column "total"/,
    ],
    ['sum(subquery: "{ orders { total } }", ordering: "id")', 'ORDERING_INVALID', /no column "id"/],
    ['sum(subquery: "{ orders { total } }", filter: "nonsense = 1")', 'FILTER_UNKNOWN_COLUMN', /nonsense/],
    ['sum(subquery: "{ orders { total } }", distincton: "id")', 'BAD_USER_INPUT', /distincton/],
    [
      `count(subquery: "{ orders { ${Array.from({ length: 40 }, (_, i) => `a${i}: id`).join(' ')} } }")`,
      'DOCUMENT_TOO_COMPLEX',
      /32/,
    ],
    [`count(subquery: "${' '.repeat(20_000)}")`, 'DOCUMENT_TOO_COMPLEX', /longer/],
    [`count(subquery: "${'{ a '.repeat(1_001)}")`, 'GRAPHQL_SYNTAX', /tokens/],
  ];
  for (const [field, code, message] of refusals) {
    it(`refuses ${field.slice(0, 90)}`, () => {
      expect(expectError(code, () => compile(field)).message).to.match(message);
    });
  }
});
