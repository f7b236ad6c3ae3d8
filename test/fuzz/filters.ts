import { expect } from 'chai';
import { bind, identifier, sql, toStatement, type Sql, type Statement } from '../../src/db/sql/sql.js';
import { AppError } from '../../src/foundation/errors.js';
import { readSubquery } from '../../src/graphql/aggregates/subquery.js';
import { compileCondition } from '../../src/graphql/filter/compile.js';
import { createAliasSource, type RowAccess } from '../../src/graphql/filter/rows/scope.js';
import { parseFilter } from '../../src/graphql/filter/syntax/parser.js';
import { FUNCTIONS } from '../../src/graphql/filter/values/functionTable.js';
import { compileOrdering } from '../../src/graphql/ordering/compileOrdering.js';
import { parseOrdering } from '../../src/graphql/ordering/parseOrdering.js';
import { Random, SEED } from '../graphql/filter/random.js';
import {
  compileShopFilter,
  openShop,
  PRINCIPAL,
  SHOP,
  shopTable,
  type Shop,
} from '../graphql/filter/shop.js';

const SECONDS = Number(process.env['FUZZ_SECONDS'] ?? 1);

/** Names that reach something in JavaScript, in PostgreSQL or in Rowpost, if they are taken for what they say. */
const HOSTILE_NAMES = (
  '__proto__ constructor prototype hasOwnProperty toString valueOf __defineGetter__ length caller arguments then ' +
  'ctid tableoid xmin xmax cmin oid r orders shop public pg_catalog pg_temp information_schema rowpost rowpost_tenant tenant_2 ' +
  'pg_sleep current_setting set_config pg_read_file pg_ls_dir dblink lo_import lo_export query_to_xml database_to_xml table_to_xml ' +
  'pg_terminate_backend pg_advisory_lock nextval setval currval pg_notify txid_current version current_user session_user ' +
  'string_agg array_agg json_agg generate_series repeat lpad rpad replace regexp_replace regexp_matches format md5 encode ' +
  'within refuse tenantid trap select from where union exists case any all array row cast collate new old f0 f1 ﬁlter ＳＥＬＥＣＴ İd ıd'
).split(' ');
const PATHS = [
  ...shopTable('orders').columns.keys(),
  'customer.name',
  'customer.parent.vip',
  'item_collection.price',
  'label_collection.title',
];
/** No statement may contain these: all literals hold one of them. */
const MARKED_TEXT = 'zq';
const MARKED_NUMBER = '7919';
const OPENERS = [
  '/*',
  '*/',
  '--',
  '$$',
  '$a$',
  '\\',
  '\0',
  '\ud800',
  '\udfff',
  '\u202e',
  '\ufeff',
  '‘',
  '＇',
  '´',
  '`',
  "'",
  '"',
  ';',
  '::',
  ':=',
  '->>',
  '@>',
  '?',
  '$1',
  '${1}',
  '{{',
  "E'",
  "U&'",
  "B'",
  'N"',
];

class Texts {
  constructor(private readonly random: Random) {}

  condition(depth: number): string {
    const { random } = this;
    if (depth > 0 && random.chance(50)) {
      const inner = this.condition(depth - 1);
      return random.pick([
        () => `not ${inner}`,
        () => `(${inner} ${random.pick(['and', 'or'])} ${this.condition(depth - 1)})`,
        () => `((${inner}))`,
        () => `(${inner}) is ${random.pick(['true', 'not false', 'null'])}`,
      ])();
    }
    const left = this.value(depth);
    return random.pick([
      () =>
        `${left} ${random.pick(['=', '!=', '<', '>=', 'like', 'not ilike', 'is distinct from'])} ${this.value(depth)}`,
      () => `${left} ${random.pick(['in', 'not in'])} [${this.literal()}, ${this.literal()}]`,
      () => `${left} between ${this.value(0)} and ${this.value(0)}`,
      () => `${left} is ${random.pick(['', 'not '])}null`,
      () => this.damaged(`${left} = ${this.literal()}`),
    ])();
  }

  value(depth: number): string {
    const { random } = this;
    if (depth > 0 && random.chance(45)) {
      const name = random.chance(75)
        ? random.pick([...FUNCTIONS.keys(), 'min', 'max', 'sum', 'count'])
        : random.pick(HOSTILE_NAMES);
      const args = Array.from({ length: random.integer(4) }, () => this.value(depth - 1));
      return random.pick([
        () => `${name}(${args.join(', ')})`,
        () =>
          `(${this.value(depth - 1)} ${random.pick(['+', '-', '*', '/', '%', '^', '&', '|', '#', '<<', '>>'])} ${this.value(depth - 1)})`,
        () => `${random.pick(['-', '~', '+'])} ${this.value(depth - 1)}`,
      ])();
    }
    return random.chance(60) ? this.path() : this.literal();
  }

  path(): string {
    const { random } = this;
    if (random.chance(70)) return quoted(random.pick(PATHS));
    const names = Array.from({ length: 1 + random.integer(3) }, () =>
      random.pick([...HOSTILE_NAMES, ...PATHS]),
    );
    const path = names.map((name) => (random.chance(30) ? `\`${name}\`` : name)).join('.');
    return random.pick([
      path,
      `$_PRINCIPAL.${path}`,
      '$_PRINCIPAL.roleid',
      '$_PRINCIPAL.classes',
      `new.${path}`,
    ]);
  }

  literal(): string {
    const { random } = this;
    const text = `${MARKED_TEXT}${random.pick(['', "''", '\\\\', '%', '_', '--', '/*', '$$', '); select trap(); --', '\u202e', '🙂', 'ﬁ', '\\n', '2024-01-01'])}`;
    const number = random.pick([
      MARKED_NUMBER,
      `-${MARKED_NUMBER}`,
      `${MARKED_NUMBER}.5`,
      `${MARKED_NUMBER}e300`,
      `.${MARKED_NUMBER}`,
      `${MARKED_NUMBER}e-400`,
      `${MARKED_NUMBER}000000000000000`,
      `0x${MARKED_NUMBER}`,
      `${MARKED_NUMBER}_0`,
    ]);
    return random.chance(50) ? `'${text}'` : random.pick([number, number, 'true', 'null']);
  }

  damaged(text: string): string {
    const { random } = this;
    const at = random.integer(text.length + 1);
    return `${text.slice(0, at)}${random.pick(OPENERS)}${text.slice(at + random.integer(3))}`;
  }
}

const quoted = (path: string): string => path.replace(/^(like|order)$/, '`$1`');

/** Rows that no expression may learn anything of: orders above 2 and their items. */
const HIDES: RowAccess = {
  predicate: ({ name }, alias) =>
    name === 'orders' ? sql`${alias}.id <= 2` : name === 'item' ? sql`${alias}.order_id <= 2` : 'all',
};

describe(`fuzz: texts of filters, conditions and orderings, ${SECONDS} s (SEED=${SEED})`, function () {
  this.timeout(600_000 + SECONDS * 2_000);
  /** Two databases that differ in hidden rows alone. */
  let shop: Shop;
  let other: Shop;

  before(async () => {
    [shop, other] = await Promise.all([openShop(), openShop()]);
    const traps = ['trap', 'dblink', 'lower', 'contains', 'repeat', 'constructor', 'pg_sleep', 'within'].map(
      (
        name,
      ) => `create function shop.${name}(text) returns text language plpgsql as $f$ begin perform nextval('shop.trapped'); return $1; end $f$;
        create function shop.${name}() returns int language plpgsql as $f$ begin return nextval('shop.trapped'); end $f$;`,
    );
    for (const { db } of [shop, other])
      await db.database.pool.query(`create sequence shop.trapped; ${traps.join('')}`);
    await other.db.database.pool.query(`
      update shop.orders set status = 'other', total = 'NaN', qty = 0, big = 9223372036854775807, ratio = 'Infinity', day = 'infinity',
        created = '-infinity', tags = null, data = '"x"', "like" = '\\', paid = true, customer_id = 4 where id > 2;
      update shop.item set price = 1e20, qty = 2147483647 where order_id > 2;
      insert into shop.orders (id, status, total) values (77, 'zq', 1e100)`);
  });
  after(async () => {
    for (const { db } of [shop, other]) {
      const { rows } = await db.database.pool.query('select is_called from shop.trapped');
      expect(rows).to.deep.equal([{ is_called: false }]);
    }
    await Promise.all([shop.db.drop(), other.db.drop()]);
  });

  /** Compiles a text; undefined if it is refused as it should be. */
  function compile(text: string, codes: RegExp, work: () => Statement): Statement | undefined {
    const startedAt = performance.now();
    try {
      const statement = work();
      expect(statement.text, text).to.not.include(MARKED_TEXT).and.not.include(MARKED_NUMBER);
      return statement;
    } catch (error) {
      if (!(error instanceof AppError)) throw new Error(`${JSON.stringify(text)} threw`, { cause: error });
      expect(error.code, text).to.match(codes);
      expect(error.message, text).to.not.include('"shop".');
      if (error.code !== 'ORDERING_INVALID') expect(error.details, text).to.have.property('line');
      return undefined;
    } finally {
      expect(performance.now() - startedAt, text).to.be.below(2_000);
    }
  }

  /** The rows, or the SQLSTATE: the same in both databases. */
  async function run(text: string, statement: Statement, values: unknown[]): Promise<void> {
    const [seen, alike] = await Promise.all(
      [shop, other].map(async ({ db }) => {
        try {
          return (await db.database.pool.query<{ id: number }>(statement.text, values)).rows.map(
            ({ id }) => id,
          );
        } catch (error) {
          return (error as { code?: string }).code ?? String(error);
        }
      }),
    );
    if (typeof seen === 'string') expect(seen, `${text}\n${statement.text}`).to.match(/^(22...|RP002)$/);
    else
      expect(
        seen!.filter((id) => id > 2),
        text,
      ).to.deep.equal([]);
    expect(alike, text).to.deep.equal(seen);
  }

  const random = new Random(SEED);
  const texts = new Texts(random);
  const until = async (share: number, round: () => Promise<boolean>): Promise<void> => {
    const end = performance.now() + SECONDS * 1_000 * share;
    let rounds = 0;
    let ran = 0;
    while (performance.now() < end) {
      rounds++;
      if (await round()) ran++;
    }
    console.log(`      ${rounds} texts, ${ran} of them ran`);
    expect(ran).to.be.greaterThan(0);
  };

  it('filters name nothing but columns and functions of the language, and learn nothing of hidden rows', async () => {
    await until(0.6, async () => {
      const text = texts.condition(1 + random.integer(4));
      let values: unknown[] = [];
      const statement = compile(text, /^FILTER_/, () => {
        const { where, inputs } = compileShopFilter('orders', text, HIDES);
        const made = toStatement(sql`select r.id from shop.orders r where r.id <= 2 and ${where} order by 1`);
        values = bind(made, inputs);
        return made;
      });
      if (statement) await run(text, statement, values);
      return statement !== undefined;
    });
  });

  it('conditions likewise', async () => {
    await until(0.2, async () => {
      const text = texts
        .condition(2)
        .replace(
          /\b(id|status|total|paid|customer|item_collection)\b/g,
          (name) => `${random.pick(['new', 'old'])}.${name}`,
        );
      let values: unknown[] = [];
      const statement = compile(text, /^FILTER_/, () => {
        const parsed = parseFilter(text);
        const where: Sql = compileCondition(parsed, {
          catalog: SHOP,
          table: shopTable('orders'),
          access: HIDES,
          aliases: createAliasSource(),
          filterVariable: 'filter',
        });
        const made = toStatement(sql`select 1 as id from (select * from shop.orders where id = 1) new_row,
          (select * from shop.orders where id = 2) old_row where ${where}`);
        values = bind(made, { variables: {}, literals: () => parsed.literals, principal: PRINCIPAL });
        return made;
      });
      if (statement) await run(text, statement, values);
      return statement !== undefined;
    });
  });

  it('orderings and subqueries of aggregates likewise', async () => {
    await until(0.2, async () => {
      const path = texts.path().replaceAll('`', '');
      const text = random.chance(80)
        ? `${path} ${random.pick(['', 'desc', 'nulls first', 'using >', '; drop'])}`
        : texts.damaged(path);
      const subquery = `{ ${random.pick(['orders', ...HOSTILE_NAMES])}${random.pick(['', `(filter: ${JSON.stringify(text)})`])} { ${path.replaceAll('.', ' { ')} } }`;
      try {
        readSubquery(subquery, SHOP);
      } catch (error) {
        if (!(error instanceof AppError)) throw new Error(`${subquery} threw`, { cause: error });
        expect(error.code, subquery).to.match(/^(GRAPHQL_|FILTER_|ORDERING_|BAD_USER_INPUT|DOCUMENT_)/);
      }
      const statement = compile(text, /^(ORDERING_INVALID|FILTER_)/, () => {
        const alias = identifier('r');
        const order = compileOrdering(parseOrdering([text]), {
          catalog: SHOP,
          access: HIDES,
          aliases: createAliasSource(),
          table: shopTable('orders'),
          alias,
        });
        return toStatement(sql`select r.id from shop.orders r where r.id <= 2${order}`);
      });
      if (statement) await run(text, statement, []);
      return statement !== undefined;
    });
  });
});
