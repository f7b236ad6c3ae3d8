import { expect } from 'chai';
import { Random, SEED } from './filter/random.js';
import { openShop, roleWith, SHOP_DDL, type Shop } from './support/shop.js';

const CASES = Number(process.env['FUZZ_CASES'] ?? 400);

const DOCUMENTS = [
  '{ customer(filter: "name = \'Ada\' and orders_collection.total > 3", ordering: ["name desc"], limit: 2, offset: 1) { customer_id name orders_collection(limit: 1) { total(cast: text) } } }',
  'query q($f: String, $o: [String], $n: Int) { a: orders(filter: $f, ordering: $o, limit: $n) { order_id customer { name } } }',
  'mutation m($input: customerInput) { create_customer(input: $input, onconflict: ignore) { customer_id name } }',
  'mutation ($rows: [customerInput!]!) { create_many_customer(input: $rows) { name } }',
  'mutation { update_orders(order_id: 1, input: { total: 5.5, status: "paid" }) { total } delete_orders(order_id: 99) { order_id } }',
  '{ Aggregates { sum(subquery: "{ orders { total customer { country } } }", filter: "total > 1", having: "sum > 3", distincton: "customer_country") } }',
  'query ($x: Boolean!) { ...f @include(if: $x) } fragment f on Query { customer { ...g } } fragment g on customer { name __typename }',
  '{ __schema { types { name fields { name } } } __type(name: "customer") { kind } }',
];
const TOKENS =
  '{ } ( ) [ ] : ! $ @ ... " """ # , = | & query mutation fragment on true null 0 -1 1e999 99999999999999999999 "\\u0000" "\\uD800" "\'" "$1" "x; drop table" \\ \u0000 é 🙂 customer orders orders_collection customer_id name total filter ordering limit input onconflict update __typename __proto__ constructor subquery having $f $input Aggregates count Utility introspect @skip(if:true)'.split(
    ' ',
  );
const NAMES = ['f', 'o', 'n', 'x', 'input', 'rows'];

/** What only the inside knows: pieces of SQL, names of schemas and roles, PostgreSQL's own messages. */
const INSIDE =
  /select coalesce|string_agg|json_build|octet_length|"f\d+"\.|::(int|text|numeric)|pg_catalog|tenant_\d|rowpost[._]|at or near|invalid input syntax|\n\s+at /i;

describe(`random requests (SEED=${SEED})`, function () {
  let shop: Shop;
  before(async () => (shop = await openShop(SHOP_DDL)));
  after(() => shop.close());

  it(`${CASES} of them get responses that disclose no internals`, async () => {
    const random = new Random(SEED);
    const clerk = roleWith(
      shop,
      ['select', 'insert', 'update', 'delete'],
      [
        { capabilities: ['select', 'insert'], targets: ['customer'], filter: "country = 'GB'" },
        {
          capabilities: ['select', 'update', 'delete'],
          targets: ['orders'],
          filter: 'customer.customer_id < 3',
        },
      ],
    );
    let answered = 0;
    for (let n = 0; n < CASES; n++) {
      const query = mutated(random, random.pick(DOCUMENTS));
      const variables = Object.fromEntries(
        NAMES.filter(() => random.chance(70)).map((name) => [name, junk(random, 3)]),
      );
      const reply = await shop.ask(query, variables, random.chance(50) ? shop.root : clerk);
      const shown = `${query}\n${JSON.stringify(variables)}\n${reply.body}`;
      expect(reply.status, shown).to.be.below(500);
      for (const { extensions } of reply.errors ?? []) {
        expect(extensions.code, shown)
          .to.be.a('string')
          .that.is.not.oneOf(['INTERNAL_ERROR', 'DATABASE_UNAVAILABLE']);
      }
      // What the caller sent may come back; it is taken out before the search.
      expect(JSON.stringify(reply.errors ?? []).replaceAll('$1', ''), shown).not.to.match(INSIDE);
      if (reply.data) answered += 1;
    }
    expect(answered, 'some of them still mean something').to.be.above(CASES / 20);
  });
});

/** Some tokens dropped, doubled, replaced or put in. Often none: then the variables are what is wrong. */
function mutated(random: Random, document: string): string {
  const tokens = document.match(/"(?:[^"\\]|\\.)*"|\.\.\.|[\w$]+|\S/g) ?? [];
  for (let changes = random.integer(4); changes > 0; changes--) {
    const at = random.integer(tokens.length);
    switch (random.integer(4)) {
      case 0:
        tokens.splice(at, 1);
        break;
      case 1:
        tokens.splice(at, 0, tokens[at] ?? '');
        break;
      case 2:
        tokens[at] = random.pick(TOKENS);
        break;
      default:
        tokens.splice(at, 0, random.pick(TOKENS));
    }
  }
  return tokens.join(' ');
}

/** A value of any shape, with what breaks careless code in it. */
function junk(random: Random, depth: number): unknown {
  const kind = random.integer(depth === 0 ? 5 : 8);
  switch (kind) {
    case 0:
      return random.pick([null, true, false, 0, -1, 1.5, 2 ** 31, 2 ** 53 + 2, 1e300]);
    case 1:
      return random.pick([
        '',
        "name = 'Ada'",
        'total >',
        'name desc',
        '\u0000',
        '\ud800',
        "'; select 1 --",
        '$1',
      ]);
    case 2:
      return random.pick([
        'total / 0 = 1',
        'item.x = 1',
        'x'.repeat(5_000),
        '('.repeat(100),
        '2026-13-45',
        'NaN',
      ]);
    case 3:
      return random.integer(100);
    case 4:
      return { name: 'Ada', country: random.pick(['GB', 'US', null]) };
    case 5:
      return Array.from({ length: random.integer(4) }, () => junk(random, depth - 1));
    case 6:
      return { name: junk(random, depth - 1), country: junk(random, depth - 1), email: junk(random, 0) };
    default:
      return JSON.parse(
        `{"__proto__": {"name": "x"}, "constructor": 1, "customer_id": ${random.integer(9)}}`,
      );
  }
}
