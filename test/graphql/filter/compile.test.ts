import { expect } from 'chai';
import { bind, identifier, toStatement } from '../../../src/db/sql/sql.js';
import { compileFilter } from '../../../src/graphql/filter/compile.js';
import { parseFilter } from '../../../src/graphql/filter/syntax/parser.js';
import { createAliasSource } from '../../../src/graphql/filter/rows/scope.js';
import { expectError } from './expectError.js';
import { compileShopFilter, EVERYTHING, openShop, SHOP, shopTable, type Shop } from './shop.js';

/** Which of the four orders pass; the last one is null in every column but its key. */
const RESULTS: Readonly<Record<string, readonly [filter: string, ids: number[]][]>> = {
  comparisons: [
    ['', [1, 2, 3, 4]],
    ['id = 1', [1]],
    ['id != 1', [2, 3, 4]],
    ['id <> 1 and id < 4', [2, 3]],
    ['2 <= id', [2, 3, 4]],
    ['id >= 2 and not id > 3', [2, 3]],
    ['not (id = 1 or id = 2)', [3, 4]],
    ['not not id = 1', [1]],
    ['true', [1, 2, 3, 4]],
    ['false', []],
    ['1 = 1', [1, 2, 3, 4]],
    ["'a' = 'b'", []],
    ['5 = "5"', [1, 2, 3, 4]],
    ['(id = 1) = true', [1]],
    ['(id = 1) = (status = "paid")', [1, 2]],
  ],
  null: [
    ['status = null', [4]],
    ['status != null', [1, 2, 3]],
    ['null = status', [4]],
    ['status is null', [4]],
    ['status is not null', [1, 2, 3]],
    ['not status is null', [1, 2, 3]],
    ['not status = null', [1, 2, 3]],
    ["not status = 'paid'", [2]],
    ["status != 'paid'", [2]],
    ["status is distinct from 'paid'", [2, 4]],
    ["status is not distinct from 'paid'", [1, 3]],
    ["not status is distinct from 'paid'", [1, 3]],
    ["(status = 'paid') is null", [4]],
    ['paid is true', [1]],
    ['paid is not true', [2, 3, 4]],
    ['paid is false', [2]],
    ['not paid is false', [1, 3, 4]],
  ],
  booleans: [
    ['paid', [1]],
    ['not paid', [2]],
    ['paid = true', [1]],
    ['paid != true', [2]],
    ['paid = "false"', [2]],
    ['paid in [true, null]', [1, 3, 4]],
  ],
  lists: [
    ['id in [1, 3, 99]', [1, 3]],
    ['id in (1, "2")', [1, 2]],
    ['id in (1)', [1]],
    ['id in []', []],
    ['id not in []', [1, 2, 3, 4]],
    ['id not in [1, 2]', [3, 4]],
    ['not id in [1, 2]', [3, 4]],
    ['id in [1.0, 2.5]', [1]],
    ['id in [1, 99999999999, 123456789012345678901234567890]', [1]],
    ["status in ['paid']", [1, 3]],
    ["status not in ['paid']", [2]],
    ["status in ['paid', null]", [1, 3, 4]],
    ["status not in ['paid', null]", [2]],
    ['status in [null]', [4]],
    ['status not in [null]', [1, 2, 3]],
    ['id in [1, qty, 2 + 2]', [1, 4]],
    ["'red' in tags", [1]],
    ["'red' not in tags", [2, 3]],
    ["tags = ['red', 'blue']", [1]],
    ['tags = []', [3]],
    ["tags != ['green']", [1, 3]],
    ['2 in numbers', [1]],
    ['id in numbers', [1]],
    ["overlaps(tags, ['green', 'blue'])", [1, 2]],
    ['cardinality(tags) = 2', [1]],
  ],
  text: [
    ["status like 'pa%'", [1, 3]],
    ["status not like 'pa%'", [2]],
    ["not status like 'pa%'", [2]],
    ["status ilike 'PA_D'", [1, 3]],
    ["status not ilike 'PA_D'", [2]],
    [String.raw`${'`like`'} like 'x\%'`, [1]],
    ["mood like 'g%'", [2]],
    ["ref like '%11'", [1]],
    ["code = 'ab'", [1]],
    ["code like 'ab'", [1]],
    ['`order` = 7', [1]],
  ],
  numbers: [
    ['total = 10.5', [1]],
    ['total = "10.50"', [1]],
    ['total > 10.4999999999999999999999', [1, 2, 3]],
    ['id = "3"', [3]],
    ['qty = 70000', []],
    ['qty < 70000', [1, 2, 3]],
    ['qty < 99999999999999999999999', [1, 2, 3]],
    ['qty > 2.5', [2, 3]],
    ['big = 9007199254740993', [1]],
    ['big = 9007199254740992', []],
    ['big = "9007199254740993"', [1]],
    ['ratio = 0.1', [1]],
    ['small = 1.1', [1]],
    ['small in [1.1, 2.5]', [1, 2]],
    ['ratio > 1e-300', [1, 2]],
    ['ratio > 0e-400', [1, 2]],
    ['total between 10 and 20', [1, 2]],
    ['total not between 10 and 20', [3]],
    ['not total between 10 and 20', [3]],
    ['15 between 10 and total', [2, 3]],
    ['total between "10" and 10.5', [1]],
  ],
  arithmetic: [
    ['id + 1 = 3', [2]],
    ['id * 2 - 1 = 5', [3]],
    ['qty / 2 = 2', [2]],
    ['total / 4 = 2.625', [1]],
    ['qty % 4 = 1', [2]],
    ['-qty = -5', [2]],
    ['2 ^ id = 8', [3]],
    ['2 ^ 3 ^ 2 = 64', [1, 2, 3, 4]],
    ['-2 ^ 2 = 4', [1, 2, 3, 4]],
    ['id & 1 = 1', [1, 3]],
    ['id | 4 = 6', [2]],
    ['id # 3 = 1', [2]],
    ['id << 2 = 12', [3]],
    ['qty >> 1 = 2', [2]],
    ['~id = -2', [1]],
    ['qty / 0 is null', [1, 2, 3, 4]],
    ['total % 0 is null and ratio / 0 is null', [1, 2, 3, 4]],
    ['qty * 2000000000 > 3000000000', [1, 2, 3]],
    ['ratio * 2 = 5', [2]],
    ['ratio % 1 = 0.5', [2]],
    ['qty + "1" = 6', [2]],
    ['big + 1 = 9007199254740994', [1]],
  ],
  'other types': [
    ["ref = 'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'", [1]],
    ["ref in ['{a0eebc999c0b4ef8bb6d6bb9bd380a12}']", [2]],
    ["mood = 'glad'", [2]],
    ["mood < 'cross'", [1, 2]],
    ["mood in ['calm', 'glad']", [1, 2]],
    ['data = \'{"n":1,"a":{"b":"x"}}\'', [1]],
    ['raw = \'{ "k": 2 }\'', [2]],
    ['raw in [\'{"k":1}\']', [1]],
    ["json_text(data, 'a', 'b') = 'y'", [2]],
    ['bytes = "aGVsbG8="', [1]],
    ["host = '10.0.0.1'", [1]],
    ["host < '10.0.0.2'", [1]],
    ["spot = '(3,4)'", [2]],
    ["spot in ['(1, 2)']", [1]],
    ["spot != '(1,2)'", [2]],
  ],
  times: [
    ["day = '2024-02-29'", [2]],
    ["day > '2024-01-01' and day < '2024-12-31'", [1, 2]],
    ["created = '2024-01-31T11:00:00+01:00'", [1]],
    ["created between '2024-01-01' and '2024-02-01'", [1]],
    ["local = '2024-02-29T23:30:00'", [2]],
    ['local = created', [1, 2, 3]],
    ['day = created', [3]],
    ["at >= '10:00'", [1, 2]],
    ["lasting > '1 day'", [1, 3]],
    ["lasting = interval('60 minutes')", [2]],
    ["created < now() - '7 days'", [1, 2, 3]],
    ["created + interval('1 day') > '2024-03-01'", [2]],
    ["created - lasting < '2024-01-01'", [3]],
    ["day + 1 = '2024-03-01'", [2]],
    ["day - date('2023-12-31') = 31", [1]],
    ['created - local > "1 minute"', []],
    ["lasting * 2 = '4 days'", [1]],
    ['day <= today()', [1, 2, 3]],
    ["day = 'infinity'", []],
    ["created > 'Jan 15 2024'", [1, 2]],
  ],
  principal: [
    ['id = $_PRINCIPAL.roleid', [2]],
    ['$_PRINCIPAL.tenantid = 7', [1, 2, 3, 4]],
    ['id = $_PRINCIPAL.parentid', []],
    ['$_PRINCIPAL.parentid is null', [1, 2, 3, 4]],
    ['id in $_PRINCIPAL.classes', [1, 3]],
    ['id not in $_PRINCIPAL.classes', [2, 4]],
    ['status in $_PRINCIPAL.capabilities', [1, 3]],
    ['"select" in $_PRINCIPAL.capabilities', [1, 2, 3, 4]],
    ['id in $_PRINCIPAL.children', []],
    ['cardinality($_PRINCIPAL.children) = 0', [1, 2, 3, 4]],
  ],
};

describe('filters on a real table', () => {
  let shop: Shop;
  before(async () => (shop = await openShop()));
  after(() => shop.db.drop());

  for (const [group, cases] of Object.entries(RESULTS)) {
    describe(group, () => {
      for (const [filter, ids] of cases) {
        it(filter === '' ? '(blank)' : filter, async () => {
          expect(await shop.ids('orders', filter)).to.deep.equal(ids);
        });
      }
    });
  }

  it('uses the index of an integer key for any notation of the number', async () => {
    for (const filter of [
      'id = 5',
      'id = "5"',
      'id in [5, 6]',
      'id = 5000000000',
      'id in ["5", 5000000000]',
      'id between 5 and 6',
    ]) {
      const { where, inputs } = compileShopFilter('orders', filter);
      const statement = toStatement(where);
      const client = await shop.db.database.pool.connect();
      try {
        await client.query('begin; set local enable_seqscan = off');
        const text = `explain (costs off) select from shop.orders r where ${statement.text}`;
        const { rows } = await client.query<{ 'QUERY PLAN': string }>(text, bind(statement, inputs));
        const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
        expect(plan, `${filter}\n${plan}`).to.match(/Index Cond|One-Time Filter: false/);
      } finally {
        await client.query('rollback');
        client.release();
      }
    }
  });

  it('no literal becomes SQL text', () => {
    const nasty = `'; drop table x; -- "`;
    const { where, inputs } = compileShopFilter(
      'orders',
      `status = "${nasty.replaceAll('"', '""')}" and id in [424242] and total > 434343.5 and status like '${nasty.replaceAll("'", "''")}'`,
    );
    const statement = toStatement(where);
    expect(statement.text).to.not.match(/drop|424242|434343/);
    expect(bind(statement, inputs)).to.deep.equal([nasty, ['424242'], '434343.5', nasty]);
  });
});

describe('filters: refused by the compiler', () => {
  const cases: [
    filter: string,
    code: 'FILTER_TYPE' | 'FILTER_UNKNOWN_COLUMN' | 'FILTER_SYNTAX',
    offset: number,
    message: RegExp,
    hint?: RegExp,
  ][] = [
    ["orders.status = 'a'", 'FILTER_UNKNOWN_COLUMN', 0, /has no relation "orders"/, /without "orders\."/],
    ['stauts = 1', 'FILTER_UNKNOWN_COLUMN', 0, /"orders" has no column "stauts"/, /Did you mean "status"/],
    ['id = 1 and Status = 1', 'FILTER_UNKNOWN_COLUMN', 11, /no column "Status"/, /"status"/],
    [
      'status = canceled',
      'FILTER_UNKNOWN_COLUMN',
      9,
      /no column "canceled"/,
      /single quotes: 'canceled'\. There are /,
    ],
    ['customer = 1', 'FILTER_UNKNOWN_COLUMN', 0, /no column "customer"/, /customer\.column/],
    ['custmer.name = 1', 'FILTER_UNKNOWN_COLUMN', 0, /no relation "custmer"/, /"customer"/],
    ['id.name = 1', 'FILTER_UNKNOWN_COLUMN', 0, /no relation "id"/, /is a column/],
    ['$_PRINCIPAL.login = 1', 'FILTER_UNKNOWN_COLUMN', 0, /no "login"/, /roleid/],
    ["status = 'a\ud800'", 'FILTER_SYNTAX', 9, /half of a surrogate pair/],
    ['status = 5', 'FILTER_TYPE', 9, /integer can't be used with text/, /quotes/],
    ['status = id', 'FILTER_TYPE', 9, /integer can't be used with text/],
    ['paid = 1', 'FILTER_TYPE', 7, /integer can't be used with boolean/],
    ['status', 'FILTER_TYPE', 0, /text is not a condition/],
    ["'x'", 'FILTER_TYPE', 0, /text is not a condition/],
    ['null', 'FILTER_TYPE', 0, /null can't be used here/, /IS NULL/],
    ['paid or null', 'FILTER_TYPE', 8, /null can't be used here/],
    ['not null', 'FILTER_TYPE', 4, /null can't be used here/],
    ['id + null = 1', 'FILTER_TYPE', 5, /null can't be used here/],
    ['-null = id', 'FILTER_TYPE', 1, /null can't be used here/],
    ['created - null = now()', 'FILTER_TYPE', 10, /null can't be used here/],
    ['id and paid', 'FILTER_TYPE', 0, /integer is not a condition/],
    ['id < null', 'FILTER_TYPE', 5, /null/, /IS NULL/],
    ['id between null and 1', 'FILTER_TYPE', 11, /null/],
    ['null in [1]', 'FILTER_TYPE', 0, /null/],
    ['id in 5', 'FILTER_TYPE', 6, /IN needs a list/],
    ['id in status', 'FILTER_TYPE', 6, /IN needs a list/],
    ["id in [1, 'x', true]", 'FILTER_TYPE', 6, /The list can't be used with integer/],
    ['status in [1]', 'FILTER_TYPE', 10, /The list can't be used with text/],
    ['id = [1]', 'FILTER_TYPE', 5, /A list can't be used here/],
    ['id = $_PRINCIPAL.classes', 'FILTER_TYPE', 5, /a list of integer can't be used with integer/],
    ['status in $_PRINCIPAL.classes', 'FILTER_TYPE', 0, /text can't be used with integer/],
    ['tags < tags', 'FILTER_TYPE', 0, /no order/],
    ['data > data', 'FILTER_TYPE', 0, /no order/],
    ["id like '5%'", 'FILTER_TYPE', 0, /LIKE compares text, not integer/, /text\(/],
    ['status like 5', 'FILTER_TYPE', 12, /integer/],
    ['status + 1 = 2', 'FILTER_TYPE', 0, /"\+" needs numbers, not text/],
    ['total & 1 = 1', 'FILTER_TYPE', 0, /needs whole numbers/],
    ['created + 1 = now()', 'FILTER_TYPE', 8, /means nothing/],
    ['created + day = now()', 'FILTER_TYPE', 8, /means nothing/],
    ['nonsense(id) = 1', 'FILTER_SYNTAX', 0, /no function "nonsense"/],
    ['pg_sleep(10) is null', 'FILTER_SYNTAX', 0, /no function/],
    ['lowr(status) = "x"', 'FILTER_SYNTAX', 0, /no function/, /Did you mean "lower"/],
    ['lower() = "x"', 'FILTER_SYNTAX', 0, /takes 1 argument\(s\), not 0/],
    ['coalesce() = 1', 'FILTER_SYNTAX', 0, /at least 1/],
    ['lower(id) = "x"', 'FILTER_TYPE', 6, /Expected text, not integer/],
    ['year(status) = 1', 'FILTER_TYPE', 5, /Expected a date/],
    ['date_trunc(status, created) = now()', 'FILTER_TYPE', 11, /written out/],
    ['max(max(id)) = 1', 'FILTER_SYNTAX', 4, /inside another/],
    ['max(paid) = true', 'FILTER_TYPE', 4, /max can't be used with boolean/],
    ['sum(status) = 1', 'FILTER_TYPE', 4, /sum can't be used with text/],
    ['max(id, 1) = 1', 'FILTER_SYNTAX', 0, /one argument/],
    ['sum(item_collection.price * label_collection.id) = 1', 'FILTER_TYPE', 28, /collection/],
    ['coalesce(id, status) = 1', 'FILTER_TYPE', 13, /text can't be used with integer/],
    ['greatest(data, data) is null', 'FILTER_TYPE', 0, /greatest can't be used with json/],
  ];
  for (const [filter, code, offset, message, hint] of cases) {
    it(filter, () => {
      const error = expectError(code, () => compileShopFilter('orders', filter));
      expect(error.message).to.match(message);
      expect(error.details['offset']).to.equal(offset);
      if (hint) expect(error.hint).to.match(hint);
    });
  }
});

describe('filters: values their column rejects when bound', () => {
  const cases: [filter: string, offset: number, message: RegExp][] = [
    ["id = 'five'", 5, /"five" is not a whole number/],
    ["id = '1.5'", 5, /whole number/],
    ["id = '99999999999999999999'", 5, /whole number/],
    ["total = 'much'", 8, /not a number/],
    ["ratio = '1e999'", 8, /number in the range of float8/],
    ['small < 1e39', 8, /"1e39" is not a number in the range of float4/],
    ['ratio = 1e-400', 8, /"1e-400" is not a number in the range of float8/],
    ['small in [0, 1e-60]', 13, /"1e-60" is not a number in the range of float4/],
    ["paid = 'maybe'", 7, /true or false/],
    ["ref = 'a0eebc99'", 6, /not a uuid/],
    ["day = '2023-02-29'", 6, /not a date/],
    ["created > 'soon'", 10, /not a date/],
    ["created > '2024-13-01T00:00:00Z'", 10, /not a date/],
    ["created > '2024-01-01T25:00:00Z'", 10, /not a date/],
    ["at = 'noon'", 5, /not a time/],
    ["lasting > 'long'", 10, /not an interval/],
    ["day - '2023-12-31' > now()", 6, /not an interval/],
    ["mood = 'angry'", 7, /one of calm, glad, cross/],
    ["mood in ['calm', 'angry']", 17, /one of calm/],
    ["data = '{a:1}'", 7, /JSON/],
    ["bytes = '~'", 8, /base64/],
    ["status like 'x\\\\'", 12, /backslash/],
    ["date_trunc('fortnight', created) = now()", 11, /one of century/],
  ];
  for (const [filter, offset, message] of cases) {
    it(filter, () => {
      const { where, inputs } = compileShopFilter('orders', filter);
      const error = expectError('FILTER_TYPE', () => bind(toStatement(where), inputs));
      expect(error.message).to.match(message);
      expect(error.details['offset']).to.equal(offset);
    });
  }

  it('literals that are part of the plan are rejected at compile time', () => {
    const { tree, literals } = parseFilter("mood = 'angry'");
    const scope = { catalog: SHOP, table: shopTable('orders'), alias: identifier('r'), access: EVERYTHING };
    const compile = () =>
      compileFilter(tree, literals, { ...scope, aliases: createAliasSource(), filterVariable: undefined });
    expectError('FILTER_TYPE', compile);
  });

  it('a plan compiled for one text serves others of the same shape', () => {
    const { where } = compileShopFilter('orders', "mood = 'calm'");
    const { inputs } = compileShopFilter('orders', "  mood = 'angry'");
    expect(expectError('FILTER_TYPE', () => bind(toStatement(where), inputs)).details['offset']).to.equal(9);
  });
});
