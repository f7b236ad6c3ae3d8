import { expect } from 'chai';
import { AppError } from '../../../src/foundation/errors.js';
import { bind, sql, toStatement } from '../../../src/db/sql/sql.js';
import { parseFilter, type ParsedFilter } from '../../../src/graphql/filter/syntax/parser.js';
import { writeFilter } from '../../../src/graphql/filter/syntax/writer.js';
import { FUNCTIONS, UNITS } from '../../../src/graphql/filter/values/functionTable.js';
import { condition, type Order } from './naiveEvaluator.js';
import { Random, SEED } from './random.js';
import { compileShopFilter, openShop, shopTable, type Shop } from './shop.js';

const CASES = Number(process.env['FUZZ_CASES'] ?? 400);

describe(`random filters (SEED=${SEED})`, function () {
  this.timeout(600_000 + CASES * 20);
  let shop: Shop;
  before(async () => (shop = await openShop()));
  after(() => shop.db.drop());

  it('random tokens are parsed or rejected with a proper error', () => {
    const random = new Random(SEED);
    const tokens =
      '( ) [ ] , . = != < > <= >= <> + - * / % ^ & | # << >> ~ \' " ` \\ $ ; 1 2.5 1e3 .5 \'x\' "y" true null and or not in like ilike is between distinct from id status customer item_collection name price lower max count(*) $_PRINCIPAL roleid \u0000 é 🙂'.split(
        ' ',
      );
    for (let i = 0; i < CASES * 2; i++) {
      const text = Array.from({ length: 1 + random.integer(14) }, () => random.pick(tokens)).join(
        random.pick(['', ' ']),
      );
      onlyFilterErrors(text, () => compileShopFilter('orders', text));
    }
  });

  it('a written expression parses to the same tree and values', () => {
    const random = new Random(SEED + 3);
    const texts = [
      ...Array.from({ length: CASES * 5 }, () => wildCondition(random, 3)),
      "`and`.`or` = 1 and new.`a b``c`.`é` = 'It''s \\\\% \\n\t \r \\' \" end\\\\'",
      '`new`.`null` = -.5e3 or - (5) = - -5 or -(-5) = 1 or - 5 = -5',
      "a in [] and b in [null, -1, 'x', true] and c in (d, e) and not (not a)",
      '',
    ];
    const seen = new Set<string>();
    for (const text of texts) {
      const parsed = onlyFilterErrors(text, () => parseFilter(text));
      if (!parsed) continue;
      seen.add(parsed.shape);
      const written = writeFilter(parsed);
      const again = parseFilter(written);
      expect(again.shape, `${text}\n${written}`).to.equal(parsed.shape);
      expect(valuesOf(again), `${text}\n${written}`).to.deep.equal(valuesOf(parsed));
    }
    expect(seen.size, 'enough of them differ').to.be.greaterThan(CASES);
  });

  it('PostgreSQL accepts whatever compiles', async () => {
    const random = new Random(SEED + 1);
    let ran = 0;
    for (let i = 0; i < CASES; i++) {
      const text = wildCondition(random, 2);
      const statement = onlyFilterErrors(text, () => {
        const { where, inputs } = compileShopFilter('orders', text);
        const compiled = toStatement(sql`select count(*) from shop.orders r where ${where}`);
        return { text: compiled.text, values: bind(compiled, inputs) };
      });
      if (!statement) continue;
      ran++;
      try {
        await shop.db.database.pool.query(statement);
      } catch (error) {
        // Class 22 is about values: an overflow, a root of a negative number.
        const { code, message } = error as { code?: string; message: string };
        expect(code, `${text}\n${statement.text}\n${message}`).to.match(/^22/);
      }
    }
    expect(ran, 'enough of them compile').to.be.greaterThan(CASES / 20);
  });

  it('valid expressions agree with a naive evaluator', async () => {
    const random = new Random(SEED + 2);
    const orders = await readOrders(shop);
    for (let i = 0; i < CASES; i++) {
      const { text, value } = condition(random, 3);
      const expected = orders.filter((order) => value(order) === true).map((order) => order.id);
      expect(await shop.ids('orders', text), text).to.deep.equal(expected);
    }
  });
});

/** Without their positions. */
function valuesOf({ literals }: ParsedFilter): unknown {
  return JSON.parse(JSON.stringify(literals, (key, value: unknown) => (key === 'at' ? undefined : value)));
}

function onlyFilterErrors<T>(text: string, work: () => T): T | undefined {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof AppError)) throw new Error(`${text} threw`, { cause: error });
    expect(error.code, text).to.match(/^FILTER_/);
    expect(error.message, text).to.not.match(/select|"shop"/);
    return undefined;
  }
}

async function readOrders(shop: Shop): Promise<Order[]> {
  const { rows } = await shop.db.database.pool.query<{ orders: Order[] }>(`
    select json_agg(json_build_object('id', o.id, 'qty', o.qty, 'status', o.status, 'paid', o.paid,
      'customer', (select row_to_json(c) from shop.customer c where c.id = o.customer_id),
      'items', coalesce((select json_agg(i) from shop.item i where i.order_id = o.id), '[]')) order by o.id) as orders
    from shop.orders o`);
  return rows[0]!.orders;
}

/** Well-formed text with little regard for types. */
function wildCondition(random: Random, depth: number): string {
  if (depth > 0 && random.chance(25)) {
    const a = wildCondition(random, depth - 1);
    return random.pick([
      `not ${a}`,
      `(${a} and ${wildCondition(random, depth - 1)})`,
      `(${a} or ${wildCondition(random, depth - 1)})`,
    ]);
  }
  const a = wildValue(random, 2);
  switch (random.integer(6)) {
    case 0:
      return `${a} ${random.pick(['in', 'not in'])} ${random.chance(70) ? wildList(random) : wildValue(random, 0)}`;
    case 1:
      return `${a} ${random.pick(['like', 'not ilike'])} ${wildValue(random, 1)}`;
    case 2:
      return `${a} ${random.pick(['is null', 'is not true', 'is distinct from 1', 'between null and null'])}`;
    case 3:
      return `${a} ${random.pick(['', 'not '])}between ${wildValue(random, 1)} and ${wildValue(random, 1)}`;
    default:
      // Two uses of one column are of one type: more of these compile.
      return `${a} ${random.pick(['=', '!=', '<', '>='])} ${random.chance(40) ? wildLiteral(random) : random.pick([a, wildValue(random, 2)])}`;
  }
}

const COLUMNS = [
  ...shopTable('orders').columns.keys(),
  'customer.name',
  'customer.credit',
  'customer.parent.vip',
  'item_collection.price',
  'label_collection.title',
  'customer.orders_collection.day',
].map((name) => (name === 'like' ? '`like`' : name));

function wildValue(random: Random, depth: number): string {
  if (depth > 0 && random.chance(35)) {
    const a = wildValue(random, depth - 1);
    const b = wildValue(random, depth - 1);
    const operator = random.pick(['+', '-', '*', '/', '%', '^', '&', '|', '#', '<<', '>>']);
    const name = random.pick([...FUNCTIONS.keys(), 'min', 'max', 'sum', 'avg', 'count']);
    const unit = random.chance(30) ? `'${random.pick(UNITS.unit)}', ` : '';
    return random.pick([
      `(${a} ${operator} ${b})`,
      `${random.pick(['-', '~', '- -'])} ${a}`,
      `${name}(${unit}${random.pick(['', a, a, `${a}, ${b}`, `${a}, ${a}`])})`,
      `(${wildCondition(random, 0)})`,
    ]);
  }
  return random.chance(65) ? random.pick(COLUMNS) : wildLiteral(random);
}

const LITERALS =
  "0 1 -7 2.5 1e300 1e-400 3000000000 99999999999999999999 'x' '5' '1.5' '2024-01-31' '2024-01-31T10:00:00Z' '10:00' '3 days' 'glad' '{\"a\":1}' 'aGVsbG8=' 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11' '10.0.0.1' '(1,2)' '\\\\' '%' true null $_PRINCIPAL.roleid $_PRINCIPAL.classes $_PRINCIPAL.capabilities"
    .replace("'3 days'", "'3\u00a0days'")
    .split(' ');

function wildLiteral(random: Random): string {
  return random.pick(LITERALS).replace('\u00a0', ' ');
}

function wildList(random: Random): string {
  return `[${Array.from({ length: random.integer(4) }, () => (random.chance(85) ? wildLiteral(random) : random.pick(COLUMNS))).join(', ')}]`;
}
