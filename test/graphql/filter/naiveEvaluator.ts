import type { Random } from './random.js';

/**
 * Random valid filters over orders, each with what it means, said in plain JavaScript. `null` is SQL's null, and
 * `undefined` never occurs.
 */
export interface Generated<T> {
  readonly text: string;
  readonly value: (order: Order) => T | null;
}

export interface Order {
  readonly id: number;
  readonly qty: number | null;
  readonly status: string | null;
  readonly paid: boolean | null;
  readonly customer: {
    readonly name: string | null;
    readonly country: string | null;
    readonly credit: number | null;
  } | null;
  readonly items: readonly { readonly price: number; readonly qty: number }[];
}

type Truth = boolean | null;

const both = <A, B, T>(a: A | null, b: B | null, combine: (a: A, b: B) => T): T | null =>
  a === null || b === null ? null : combine(a, b);
const not = (a: Truth): Truth => (a === null ? null : !a);
const and = (a: Truth, b: Truth): Truth => (a === false || b === false ? false : both(a, b, () => true));
const or = (a: Truth, b: Truth): Truth => not(and(not(a), not(b)));

const COMPARISONS: Readonly<Record<string, (order: number) => boolean>> = {
  '=': (order) => order === 0,
  '!=': (order) => order !== 0,
  '<>': (order) => order !== 0,
  '<': (order) => order < 0,
  '>': (order) => order > 0,
  '<=': (order) => order <= 0,
  '>=': (order) => order >= 0,
};

function orderOf(a: number | string, b: number | string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

const ARITHMETIC: Readonly<Record<string, (a: number, b: number) => number | null>> = {
  '+': (a, b) => a + b,
  '-': (a, b) => a - b,
  '*': (a, b) => a * b,
  '/': (a, b) => (b === 0 ? null : Math.trunc(a / b)),
  '%': (a, b) => (b === 0 ? null : a % b),
  '&': (a, b) => Number(BigInt(a) & BigInt(b)),
  '|': (a, b) => Number(BigInt(a) | BigInt(b)),
  '#': (a, b) => Number(BigInt(a) ^ BigInt(b)),
};

/** Any condition: AND, OR and NOT of tests. */
export function condition(random: Random, depth: number): Generated<boolean> {
  if (depth > 0 && random.chance(55)) {
    const a = condition(random, depth - 1);
    if (random.chance(30)) return { text: `not (${a.text})`, value: (o) => not(a.value(o)) };
    const b = condition(random, depth - 1);
    return random.chance(50)
      ? { text: `(${a.text} AND ${b.text})`, value: (o) => and(a.value(o), b.value(o)) }
      : { text: `(${a.text} or ${b.text})`, value: (o) => or(a.value(o), b.value(o)) };
  }
  const kinds = [numberTest, textTest, nullTest, collectionTest, booleanTest];
  return random.pick(kinds)(random);
}

function whole(random: Random, depth: number): Generated<number> {
  if (depth > 0 && random.chance(40)) {
    const a = whole(random, depth - 1);
    const b = whole(random, depth - 1);
    const operator = random.pick(Object.keys(ARITHMETIC));
    const compute = ARITHMETIC[operator]!;
    return { text: `(${a.text} ${operator} ${b.text})`, value: (o) => both(a.value(o), b.value(o), compute) };
  }
  const literal = random.integer(12) - 2;
  return random.pick<Generated<number>>([
    { text: 'id', value: (o) => o.id },
    { text: 'qty', value: (o) => o.qty },
    { text: 'customer.credit', value: (o) => o.customer?.credit ?? null },
    { text: 'count(item_collection.id)', value: (o) => o.items.length },
    { text: String(literal), value: () => literal },
    { text: 'coalesce(qty, -1)', value: (o) => o.qty ?? -1 },
  ]);
}

/** Division of decimals is not JavaScript's: customer.credit stays out of arithmetic. */
function wholeArithmetic(random: Random): Generated<number> {
  for (;;) {
    const candidate = whole(random, 2);
    if (!/credit.*[/%&|#]|[/%&|#].*credit/.test(candidate.text)) return candidate;
  }
}

function numberTest(random: Random): Generated<boolean> {
  const a = wholeArithmetic(random);
  const b = wholeArithmetic(random);
  switch (random.integer(4)) {
    case 0: {
      const low = random.integer(6) - 1;
      const high = low + random.integer(6);
      const inside = (n: number): boolean => n >= low && n <= high;
      const negated = random.chance(50);
      return {
        text: `${a.text} ${negated ? 'NOT ' : ''}between ${low} and ${high}`,
        value: (o) => both(a.value(o), true, (n) => inside(n) !== negated),
      };
    }
    case 1:
      return membership(random, a, [random.integer(5), random.integer(12)]);
    default: {
      const operator = random.pick(Object.keys(COMPARISONS));
      return {
        text: `${a.text} ${operator} ${b.text}`,
        value: (o) => both(a.value(o), b.value(o), (x, y) => COMPARISONS[operator]!(orderOf(x, y))),
      };
    }
  }
}

function membership<T extends number | string>(
  random: Random,
  a: Generated<T>,
  items: readonly T[],
): Generated<boolean> {
  const negated = random.chance(50);
  const withNull = random.chance(30);
  const list = [
    ...items.map((item) => (typeof item === 'string' ? `'${item}'` : String(item))),
    ...(withNull ? ['null'] : []),
  ];
  return {
    text: `${a.text} ${negated ? 'not in' : 'IN'} [${list.join(',')}]`,
    value: (o) => {
      const value = a.value(o);
      if (value === null) return withNull ? !negated : null;
      return items.includes(value) !== negated;
    },
  };
}

function text(random: Random): Generated<string> {
  return random.pick<Generated<string>>([
    { text: 'status', value: (o) => o.status },
    { text: 'customer.name', value: (o) => o.customer?.name ?? null },
    { text: 'customer.country', value: (o) => o.customer?.country ?? null },
    { text: "coalesce(customer.country, 'SE')", value: (o) => o.customer?.country ?? 'SE' },
    { text: 'upper(status)', value: (o) => o.status?.toUpperCase() ?? null },
    { text: "'paid'", value: () => 'paid' },
    { text: '"SE"', value: () => 'SE' },
  ]);
}

function textTest(random: Random): Generated<boolean> {
  const a = text(random);
  if (random.chance(30)) return membership(random, a, ['paid', 'SE', 'Ada']);
  if (random.chance(30)) {
    const letter = random.pick(['a', 'E', 'p']);
    const caseless = random.chance(50);
    const fold = (s: string): string => (caseless ? s.toLowerCase() : s);
    return {
      text: `${a.text} ${caseless ? 'ilike' : 'like'} '%${letter}%'`,
      value: (o) => both(a.value(o), true, (s) => fold(s).includes(fold(letter))),
    };
  }
  const b = text(random);
  const operator = random.pick(Object.keys(COMPARISONS));
  return {
    text: `${a.text} ${operator} ${b.text}`,
    value: (o) => both(a.value(o), b.value(o), (x, y) => COMPARISONS[operator]!(orderOf(x, y))),
  };
}

function nullTest(random: Random): Generated<boolean> {
  const a: Generated<unknown> = random.chance(50) ? text(random) : wholeArithmetic(random);
  const [suffix, meansNull] = random.pick([
    ['is null', true],
    ['IS NOT NULL', false],
    ['= null', true],
    ['!= null', false],
  ] as const);
  return { text: `${a.text} ${suffix}`, value: (o) => (a.value(o) === null) === meansNull };
}

function booleanTest(random: Random): Generated<boolean> {
  return random.pick<Generated<boolean>>([
    { text: 'paid', value: (o) => o.paid },
    { text: 'paid = true', value: (o) => o.paid },
    { text: 'paid is not true', value: (o) => o.paid !== true },
    {
      text: "(status = 'paid') = paid",
      value: (o) => both(o.status, o.paid, (s, p) => (s === 'paid') === p),
    },
    {
      text: "(customer.name = 'Ada') is not false",
      value: (o) => both(o.customer?.name ?? null, true, (n) => n === 'Ada') !== false,
    },
  ]);
}

/** Some item satisfies it: true or false, never null. */
function collectionTest(random: Random): Generated<boolean> {
  const operator = random.pick(Object.keys(COMPARISONS));
  const compare = COMPARISONS[operator]!;
  if (random.chance(30)) {
    return {
      text: `item_collection.price ${operator} item_collection.qty`,
      value: (o) => o.items.some((item) => compare(orderOf(item.price, item.qty))),
    };
  }
  const other = wholeArithmetic(random);
  return {
    text: `item_collection.price ${operator} ${other.text}`,
    value: (o) => o.items.some((item) => both(item.price, other.value(o), (x, y) => compare(orderOf(x, y)))),
  };
}
