import { expect } from 'chai';
import {
  MAX_ROWS,
  problemOfRow,
  toExpression,
  toGroups,
  type ConditionGroups,
  type ConditionRow,
} from '../../src/api/console/conditionForm.js';
import { hasValue, operatorsOf, type FormColumn } from '../../src/api/console/conditionOperators.js';
import { Random, SEED } from '../graphql/filter/random.js';
import { openShop, type Shop } from '../graphql/support/shop.js';

const CASES = Number(process.env['FUZZ_CASES'] ?? 400);
const MOODS = ['glad', 'not so glad', `it's "100 %" \\ _x`, '</select><script>', 'and'];

const column = (name: string, kind: FormColumn['kind'], more: Partial<FormColumn> = {}): FormColumn => ({
  name,
  kind,
  is_list: false,
  labels: null,
  ...more,
});
const COLUMNS = new Map(
  [
    column('note', 'text'),
    column('select', 'text'),
    column('mood', 'enum', { labels: MOODS }),
    column('n', 'integer'),
    column('big', 'bigint'),
    column('amount', 'numeric'),
    column('ratio', 'float'),
    column('flag', 'boolean'),
    column('day', 'date'),
    column('at', 'timestamptz'),
    column('local', 'timestamp'),
    column('ref', 'uuid'),
    column('tags', 'text', { is_list: true }),
    column('nums', 'integer', { is_list: true }),
    column('docs', 'json', { is_list: true }),
    column('doc', 'json'),
    column('wait', 'interval'),
    column('bytes', 'bytea'),
    column('address', 'other'),
  ].map((each) => [each.name, each]),
);
const DDL = `create type mood as enum (${MOODS.map((label) => `'${label.replaceAll("'", "''")}'`).join(', ')});
  create table things (id int primary key, note text, "select" varchar(40), mood mood, n int, big bigint, amount numeric(20, 2),
    ratio float8, flag boolean, day date, at timestamptz, local timestamp, ref uuid, tags text[], nums int[], docs jsonb[],
    doc json, wait interval, bytes bytea, address inet);`;

const UUIDS = ['a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', 'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A12'];
const TEXTS = [
  'paid',
  'Paid',
  'not paid',
  'a_b%c',
  'a%',
  "it's",
  '\\',
  '\\%',
  ' ',
  'ünï 🙂',
  'null',
  "' or true --",
];

/** A value as the form has it, by kind. */
function typed(random: Random, { kind }: FormColumn): string {
  switch (kind) {
    case 'enum':
      return random.pick(MOODS);
    case 'integer':
    case 'bigint':
      return random.pick(['0', '1', '-1', '2', '007', '9', '99999999999']);
    case 'numeric':
    case 'float':
      return random.pick(['0', '.5', '-.5', '1.50', '2', '-3', '1000000']);
    case 'boolean':
      return random.pick(['true', 'false']);
    case 'date':
      return random.pick(['2026-01-31', '2026-02-01', '0099-12-31']);
    case 'timestamp':
    case 'timestamptz':
      return random.pick(['2026-01-31T10:00', '2026-01-31T10:00:01', '2026-02-01T00:00']);
    case 'uuid':
      return random.pick(UUIDS);
    default:
      return random.pick(TEXTS);
  }
}

function randomRow(random: Random): ConditionRow {
  const about = random.pick([...COLUMNS.values()]);
  const operator = random.pick(operatorsOf(about));
  return {
    column: about.name,
    operator: operator.name,
    value: hasValue(operator) ? typed(random, about) : '',
  };
}

function randomGroups(random: Random): ConditionGroups {
  const groups = Array.from({ length: random.integer(4) }, () =>
    Array.from({ length: 1 + random.integer(4) }, () => {
      const row = randomRow(random);
      return row;
    }),
  );
  // Rows about the same column and value are more often right next to each other than by chance.
  return groups.map((rows) =>
    rows.flatMap((row) => {
      if (!random.chance(25)) return [row];
      const about = COLUMNS.get(row.column)!;
      const other = random.pick(operatorsOf(about));
      return [
        row,
        {
          column: row.column,
          operator: other.name,
          value: hasValue(other) ? row.value || typed(random, about) : '',
        },
      ];
    }),
  );
}

/** Two neighbors that together say what one row says are that row. */
function withoutPairs(groups: ConditionGroups): ConditionGroups {
  const merged: Readonly<Record<string, string>> = {
    'is was_is_not': 'becomes',
    'is was_is_other': 'becomes_from_other',
  };
  return groups.map((rows) => {
    const kept: ConditionRow[] = [];
    for (const row of rows) {
      const last = kept.at(-1);
      const pair =
        last?.column === row.column && last.value === row.value && merged[`${last.operator} ${row.operator}`];
      if (last && pair) kept.splice(-1, 1, { ...last, operator: pair });
      else kept.push(row);
    }
    return kept;
  });
}

type Json = string | number | boolean | null | readonly (string | number)[];
type Thing = Readonly<Record<string, Json>>;

/** What the words of a row mean, about values as they are in events. */
function says(
  { column: name, operator, value }: ConditionRow,
  before: Thing | null,
  after: Thing | null,
): boolean {
  const about = COLUMNS.get(name)!;
  const [was, is] = [before?.[name] ?? null, after?.[name] ?? null];
  const wanted = about.is_list ? value : comparable(about, value);
  const same = (a: Json): boolean => a !== null && comparable(about, a) === wanted;
  const differ = (a: Json, b: Json): boolean =>
    JSON.stringify(shown(about, a)) !== JSON.stringify(shown(about, b));
  switch (operator) {
    case 'becomes':
      return same(is) && !same(was);
    case 'becomes_from_other':
      return same(is) && was !== null && !same(was);
    case 'changed':
      return differ(was, is);
    case 'increased':
      return was !== null && is !== null && comparable(about, is) > comparable(about, was);
    case 'decreased':
      return was !== null && is !== null && comparable(about, is) < comparable(about, was);
  }
  const seen = operator.startsWith('was_') ? was : is;
  const text = String(seen).toLowerCase();
  switch (operator.replace(/^was_/, '')) {
    case 'is':
      return same(seen);
    case 'is_not':
      return !same(seen);
    case 'is_other':
      return seen !== null && !same(seen);
    case 'more':
      return seen !== null && comparable(about, seen) > wanted;
    case 'at_least':
      return seen !== null && comparable(about, seen) >= wanted;
    case 'less':
      return seen !== null && comparable(about, seen) < wanted;
    case 'at_most':
      return seen !== null && comparable(about, seen) <= wanted;
    case 'contains':
      return seen !== null && text.includes(value.toLowerCase());
    case 'starts':
      return seen !== null && text.startsWith(value.toLowerCase());
    case 'ends':
      return seen !== null && text.endsWith(value.toLowerCase());
    case 'includes':
      return (
        seen !== null &&
        (seen as readonly Json[]).some((item) => comparable(about, item) === comparable(about, value))
      );
    case 'empty':
      return seen === null || (about.kind === 'text' && !about.is_list && seen === '');
    case 'filled':
      return seen !== null && !(about.kind === 'text' && !about.is_list && seen === '');
    case 'null':
      return seen === null;
    case 'not_null':
      return seen !== null;
  }
  throw new Error(`what does ${operator} mean?`);
}

function comparable({ kind }: FormColumn, value: Json): string | number {
  if (kind === 'uuid') return String(value).toLowerCase();
  if (kind === 'timestamp' || kind === 'timestamptz')
    return Date.parse(`${String(value).replace(/Z$/, '')}Z`);
  return ['integer', 'bigint', 'numeric', 'float'].includes(kind) ? Number(value) : String(value);
}

const shown = (about: FormColumn, value: Json): unknown =>
  value === null || typeof value === 'object' ? value : comparable(about, value);

function randomThing(random: Random): Thing {
  return Object.fromEntries(
    [...COLUMNS.values()].map((about): [string, Json] => {
      const { name, kind, is_list } = about;
      if (random.chance(25)) return [name, null];
      if (kind === 'interval') return [name, random.pick(['1 day', '2 days'])];
      if (kind === 'bytea') return [name, random.pick(['\\x00', '\\x01'])];
      if (kind === 'other') return [name, random.pick(['10.0.0.1', '10.0.0.2'])];
      if (name === 'doc') return [name, random.pick([1, 'x', true])];
      if (name === 'docs') return [name, []];
      if (name === 'nums') return [name, random.pick([[], [1], [1, 2], [0, -1, 7]])];
      if (name === 'tags') return [name, random.pick([[], ['paid'], TEXTS.slice(0, 3), TEXTS])];
      if (kind === 'text' && random.chance(20)) return [name, ''];
      const value = typed(random, about);
      if (kind === 'boolean') return [name, value === 'true'];
      const isNumber = ['integer', 'bigint', 'numeric', 'float'].includes(kind);
      return [
        name,
        isNumber ? Number(kind === 'integer' ? value.slice(0, 5) : value) : is_list ? [value] : value,
      ];
    }),
  );
}

describe(`conditions as rows of a form (FUZZ_SEED=${SEED})`, () => {
  let shop: Shop;
  before(async () => (shop = await openShop(DDL)));
  after(() => shop.close());

  it('are expressions that read as the same rows again, and match what the words of the rows say', async function () {
    this.timeout(600_000);
    const random = new Random(SEED);
    const { engine, tenant } = shop;
    const operators = new Set<string>();
    let matches = 0;
    for (let i = 0; i < CASES; i++) {
      const groups = randomGroups(random);
      for (const row of groups.flat())
        expect(problemOfRow(row, COLUMNS), JSON.stringify(row)).to.equal(undefined);
      const expression = toExpression(groups, COLUMNS);
      expect(toGroups(expression, COLUMNS), expression).to.deep.equal(withoutPairs(groups));
      const events = Array.from({ length: 12 }, () => {
        const [before, after] = [randomThing(random), randomThing(random)];
        const [kept, absent] = [random.chance(40), random.integer(10)];
        return {
          before: absent === 0 ? null : before,
          after: absent === 1 ? null : kept ? { ...before, note: after['note'] ?? null } : after,
        };
      });
      const results = await engine.evaluateCondition(
        tenant.tenantid,
        tenant.schema,
        'things',
        expression,
        events.map((event) => ({
          old: event.before && JSON.stringify(event.before),
          new: event.after && JSON.stringify(event.after),
        })),
      );
      const expected = events.map(
        ({ before, after }) =>
          groups.length === 0 || groups.some((rows) => rows.every((row) => says(row, before, after))),
      );
      expect(results, `${expression}\n${JSON.stringify(events)}`).to.deep.equal(expected);
      matches += groups.length > 0 ? expected.filter(Boolean).length : 0;
      for (const { operator } of groups.flat()) operators.add(operator);
    }
    expect(matches).to.be.greaterThan(CASES);
    const all = [...COLUMNS.values()].flatMap((each) => operatorsOf(each).map(({ name }) => name));
    expect(
      [...new Set(all)].filter((name) => !operators.has(name)),
      'operators without a case',
    ).to.deep.equal([]);
  });

  it('open as rows if they fit, whatever they are written like, and as text if not', () => {
    const one = (columnName: string, operator: string, value = ''): ConditionGroups => [
      [{ column: columnName, operator, value }],
    ];
    for (const [expression, groups] of [
      ['', []],
      ['new.note=\'paid\'  AND old.note IS DISTINCT FROM "paid"', one('note', 'becomes', 'paid')],
      ["new.note = 'paid' and old.note != 'paid'", one('note', 'becomes_from_other', 'paid')],
      ['((new.`note` = "it\\\'s"))', one('note', 'is', "it's")],
      ['new.n = null', undefined],
      ['new.n is null', one('n', 'empty')],
      ["new.note is null or new.note = ''", one('note', 'empty')],
      ["new.n = 1 or (new.note is null or new.note = '')", [...one('n', 'is', '1'), ...one('note', 'empty')]],
      ["new.note = ''", undefined],
      ["new.note like '%x%'", undefined],
      ["new.note ilike '%x_%'", undefined],
      ["new.note ilike '%x\\_%'", one('note', 'contains', 'x_')],
      ["new.note ilike '%'", undefined],
      ["new.note = 'a\\nb'", undefined],
      ['new.n = 1.5', undefined],
      ["new.n = '1'", undefined],
      ["new.at > '2026-01-31T10:00Z'", one('at', 'more', '2026-01-31T10:00')],
      ["new.at > '2026-01-31T10:00'", undefined],
      ["new.day > 'today'", undefined],
      ['new.flag', undefined],
      ['not new.n = 1', undefined],
      ['new.n = 1 and (new.n = 2 or new.n = 3)', undefined],
      ['new.other.n = 1', undefined],
      ['new.nothing = 1', undefined],
      ['new is null', undefined],
      ['new.n = old.n', undefined],
      ["new.note = 'x' and", undefined],
      ['new.constructor = 1 and new.__proto__ = 2', undefined],
    ] as const)
      expect(toGroups(expression, COLUMNS), expression).to.deep.equal(groups);
    const many = (count: number): ConditionGroups => [
      Array.from({ length: count }, () => ({ column: 'n', operator: 'is', value: '1' })),
    ];
    expect(toGroups(toExpression(many(MAX_ROWS), COLUMNS), COLUMNS)).to.deep.equal(many(MAX_ROWS));
    expect(toGroups(toExpression(many(MAX_ROWS + 1), COLUMNS), COLUMNS)).to.equal(undefined);
  });

  it('name what is wrong with a row', () => {
    for (const [columnName, operator, value, problem] of [
      ['', 'is', 'x', 'Choose a column.'],
      ['gone', 'is', 'x', 'There is no column gone.'],
      ['__proto__', 'is', 'x', 'There is no column __proto__.'],
      ['doc', 'is', 'x', 'Choose how doc is compared.'],
      ['note', 'constructor', 'x', 'Choose how note is compared.'],
      ['note', 'is', '', 'Enter a text on one line.'],
      ['note', 'is', '\ud800', 'Enter a text on one line.'],
      ['mood', 'is', 'angry', 'Choose a value.'],
      ['n', 'is', '1.5', 'Enter a whole number.'],
      ['amount', 'is', '1e5', 'Enter a number, such as 12.50.'],
      ['day', 'is', '31.1.2026', 'Enter a date.'],
      ['flag', 'is', 'maybe', 'Choose yes or no.'],
      ['flag', 'empty', '', undefined],
    ] as const)
      expect(problemOfRow({ column: columnName, operator, value }, COLUMNS)).to.equal(problem);
  });
});
