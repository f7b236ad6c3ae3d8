import type { ColumnType } from '../../../db/catalog/catalog.js';
import { nullWhen } from '../../../db/catalog/operators.js';
import { join, sql, textConstant, type Sql } from '../../../db/sql/sql.js';
import type { Value } from '../environment.js';
import { isWholeNumber, TYPES } from '../types.js';

/**
 * What an argument must be. `whole` is a 32-bit integer; `span` a date, a timestamp or an interval; `unit` and `wholeUnit`
 * (those to which dates can be truncated) literals such as 'month'; `same` must have a type in common with the other
 * `same` arguments; `any` is anything but a list literal.
 */
export type Parameter =
  | 'text'
  | 'number'
  | 'whole'
  | 'moment'
  | 'span'
  | 'interval'
  | 'unit'
  | 'wholeUnit'
  | 'json'
  | 'list'
  | 'same'
  | 'any';

/** A function that expressions may call. */
export interface FilterFunction {
  readonly parameters: readonly Parameter[];
  readonly result: ColumnType | ((args: readonly Value[]) => ColumnType);
  readonly write: (...args: Sql[]) => Sql;
  /** For docs/reference/query.md. */
  readonly doc: string;
  /** Number of optional parameters, from the end. */
  readonly optional?: number;
  /** The last parameter may be repeated. */
  readonly variadic?: boolean;
  /** Whether the result is null if an argument is null; true by default. */
  readonly strict?: boolean;
  /** How long the result may be, from the lengths of the arguments; by default as long as the longest. */
  readonly growth?: (lengths: readonly number[]) => number;
  /** How long it takes to compare a character of the first argument with one of the second, in units of `strpos`. */
  readonly search?: number;
}

const WHOLE_UNITS = 'century decade year quarter month week day hour minute second'.split(' ');
/** The literals that date_trunc and date_part accept. */
export const UNITS: Readonly<Record<'wholeUnit' | 'unit', readonly string[]>> = {
  wholeUnit: WHOLE_UNITS,
  unit: [...WHOLE_UNITS, 'dow', 'doy', 'isodow', 'isoyear', 'epoch'],
};

const { int4, int8, numeric, float8, boolean, text, date, timestamp, timestamptz, interval } = TYPES;

const first = (args: readonly Value[]): ColumnType => args[0]?.type ?? text;
const wideFirst = (args: readonly Value[]): ColumnType => (isWholeNumber(first(args)) ? int8 : first(args));
const zoneOfSecond = (args: readonly Value[]): ColumnType =>
  args[1]?.type.kind === 'timestamptz' ? timestamptz : timestamp;

function row(
  parameters: readonly Parameter[],
  result: FilterFunction['result'],
  write: FilterFunction['write'],
  doc: string,
  more: Pick<FilterFunction, 'optional' | 'variadic' | 'strict' | 'growth' | 'search'> = {},
): FilterFunction {
  return { parameters, result, write, doc, ...more };
}

const part = (unit: string, doc: string): FilterFunction =>
  row(['moment'], int4, (x) => sql`pg_catalog.date_part(${textConstant(unit)}, ${x})::pg_catalog.int4`, doc);

const choice = (doc: string, write: (list: Sql) => Sql): FilterFunction =>
  row(['same'], first, (...args) => write(join(args)), doc, { variadic: true, strict: false });

const sum = (lengths: readonly number[]): number => lengths.reduce((a, b) => a + b, 0);

/**
 * The functions by name. Deliberately excluded: functions whose results grow without bound (repeat, lpad, replace), whose
 * running time callers control (regular expressions), or that read anything but their arguments.
 */
export const FUNCTIONS: ReadonlyMap<string, FilterFunction> = new Map(
  Object.entries<FilterFunction>({
    lower: row(['text'], text, (t) => sql`pg_catalog.lower(${t})`, 'in lower case'),
    upper: row(['text'], text, (t) => sql`pg_catalog.upper(${t})`, 'in upper case'),
    initcap: row(['text'], text, (t) => sql`pg_catalog.initcap(${t})`, 'every word capitalized'),
    trim: row(['text'], text, (t) => sql`pg_catalog.btrim(${t})`, 'without spaces at both ends'),
    ltrim: row(['text'], text, (t) => sql`pg_catalog.ltrim(${t})`, 'without spaces at the start'),
    rtrim: row(['text'], text, (t) => sql`pg_catalog.rtrim(${t})`, 'without spaces at the end'),
    reverse: row(['text'], text, (t) => sql`pg_catalog.reverse(${t})`, 'backwards'),
    length: row(['text'], int4, (t) => sql`pg_catalog.char_length(${t})`, 'number of characters'),
    left: row(['text', 'whole'], text, (t, n) => sql`pg_catalog.left(${t}, ${n})`, 'the first n characters'),
    right: row(['text', 'whole'], text, (t, n) => sql`pg_catalog.right(${t}, ${n})`, 'the last n characters'),
    substring: substring(),
    substr: substring(),
    translate: row(
      ['text', 'text', 'text'],
      text,
      (t, from, to) => sql`pg_catalog.translate(${t}, ${from}, ${to})`,
      'each character of the second text replaced by its counterpart in the third, or removed',
      { growth: ([length = 0]) => 4 * length, search: 12 },
    ),
    split_part: row(
      ['text', 'text', 'whole'],
      text,
      (t, separator, n) => sql`pg_catalog.split_part(${t}, ${separator}, ${n})`,
      'the nth part between separators, from 1',
      { search: 1 },
    ),
    strpos: row(
      ['text', 'text'],
      int4,
      (t, part) => sql`pg_catalog.strpos(${t}, ${part})`,
      'where the second text is in the first, from 1; 0 for nowhere',
      { search: 1 },
    ),
    contains: row(
      ['text', 'text'],
      boolean,
      (t, part) => sql`(pg_catalog.strpos(${t}, ${part}) operator(pg_catalog.>) 0)`,
      'the first text holds the second',
      { search: 1 },
    ),
    starts_with: row(
      ['text', 'text'],
      boolean,
      (t, start) => sql`pg_catalog.starts_with(${t}, ${start})`,
      'the first text begins with the second',
    ),
    ends_with: row(
      ['text', 'text'],
      boolean,
      (t, end) => sql`pg_catalog.starts_with(pg_catalog.reverse(${t}), pg_catalog.reverse(${end}))`,
      'the first text ends with the second',
    ),
    concat: row(
      ['any'],
      text,
      (...args) => sql`pg_catalog.concat(${join(args)})`,
      'the arguments joined as text, nulls left out',
      { variadic: true, strict: false, growth: sum },
    ),
    text: row(['any'], text, (x) => sql`(${x})::pg_catalog.text`, 'as text'),

    now: row([], timestamptz, () => sql`pg_catalog.now()`, 'the moment at which the request began'),
    today: row([], date, () => sql`current_date`, 'the date, in UTC'),
    date: row(['moment'], date, (x) => sql`(${x})::pg_catalog.date`, 'the date of a timestamp, in UTC'),
    interval: row(
      ['interval'],
      interval,
      (x) => sql`(${x})::pg_catalog.interval`,
      "a length of time: interval('7 days')",
    ),
    date_trunc: row(
      ['wholeUnit', 'moment'],
      zoneOfSecond,
      (unit, x) => sql`pg_catalog.date_trunc(${unit}, ${x})`,
      "cut to a unit: date_trunc('month', createdate)",
    ),
    date_part: row(
      ['unit', 'moment'],
      float8,
      (unit, x) => sql`pg_catalog.date_part(${unit}, ${x})`,
      "a part as a number: date_part('hour', createdate)",
    ),
    age: row(
      ['moment', 'moment'],
      interval,
      (a, b) => sql`pg_catalog.age(${a}::pg_catalog.timestamptz, ${b}::pg_catalog.timestamptz)`,
      'the time from the second to the first, in years, months and days',
    ),
    // The other parts of infinity are null already.
    year: row(
      ['moment'],
      int4,
      (x) => {
        const finite = nullWhen(sql`pg_catalog.date_part('year', ${x})`, sql`'infinity'`);
        return sql`${nullWhen(finite, sql`'-infinity'`)}::pg_catalog.int4`;
      },
      'the year, null for infinity',
    ),
    quarter: part('quarter', 'the quarter, 1 to 4'),
    month: part('month', 'the month, 1 to 12'),
    week: part('week', 'the ISO week'),
    day: part('day', 'the day of the month'),
    dow: part('dow', 'the day of the week, 0 for Sunday'),
    hour: part('hour', 'the hour, in UTC'),
    minute: part('minute', 'the minute'),
    epoch: row(
      ['span'],
      float8,
      (x) => sql`pg_catalog.date_part('epoch', ${x})`,
      'seconds since 1970, or of an interval',
    ),
    to_char: row(
      ['span', 'text'],
      text,
      (x, format) => sql`pg_catalog.to_char(${x}, ${format})`,
      "written in a format: to_char(createdate, 'YYYY-MM')",
      { growth: (lengths) => 12 * sum(lengths) },
    ),

    abs: row(['number'], wideFirst, (x) => sql`pg_catalog.abs(${x})`, 'without its sign'),
    sign: row(['number'], int4, (x) => sql`pg_catalog.sign(${x})::pg_catalog.int4`, '-1, 0 or 1'),
    ceil: row(
      ['number'],
      numeric,
      (x) => sql`pg_catalog.ceil(${x}::pg_catalog.numeric)`,
      'the next whole number up',
    ),
    floor: row(
      ['number'],
      numeric,
      (x) => sql`pg_catalog.floor(${x}::pg_catalog.numeric)`,
      'the next whole number down',
    ),
    round: row(
      ['number', 'whole'],
      numeric,
      (x, n?: Sql) => sql`pg_catalog.round(${x}::pg_catalog.numeric, ${n ?? sql`0`})`,
      'to n decimals, none without n',
      { optional: 1 },
    ),
    trunc: row(
      ['number', 'whole'],
      numeric,
      (x, n?: Sql) => sql`pg_catalog.trunc(${x}::pg_catalog.numeric, ${n ?? sql`0`})`,
      'cut to n decimals, none without n',
      { optional: 1 },
    ),
    sqrt: row(['number'], float8, (x) => sql`pg_catalog.sqrt(${x}::pg_catalog.float8)`, 'the square root'),
    exp: row(['number'], float8, (x) => sql`pg_catalog.exp(${x}::pg_catalog.float8)`, 'e to the power of x'),
    ln: row(['number'], float8, (x) => sql`pg_catalog.ln(${x}::pg_catalog.float8)`, 'the natural logarithm'),
    log: row(
      ['number'],
      float8,
      (x) => sql`pg_catalog.log(${x}::pg_catalog.float8)`,
      'the logarithm to base 10',
    ),
    power: row(
      ['number', 'number'],
      float8,
      (x, y) => sql`pg_catalog.power(${x}::pg_catalog.float8, ${y}::pg_catalog.float8)`,
      'x to the power of y',
    ),
    number: row(
      ['any'],
      numeric,
      (x) => sql`((${x})::pg_catalog.text)::pg_catalog.numeric`,
      'text as a number',
    ),

    coalesce: choice('the first argument that is not null', (list) => sql`coalesce(${list})`),
    greatest: choice('the greatest argument, nulls left out', (list) => sql`greatest(${list})`),
    least: choice('the least argument, nulls left out', (list) => sql`least(${list})`),
    nullif: row(['same', 'same'], first, nullWhen, 'null when the two are equal, else the first', {
      strict: false,
    }),

    json_text: row(
      ['json', 'text'],
      text,
      (x, ...keys) => sql`(${x} operator(pg_catalog.#>>) array[${join(keys)}]::pg_catalog.text[])`,
      "what is in json under the keys, as text: json_text(data, 'address', 'city')",
      { variadic: true },
    ),
    cardinality: row(
      ['list'],
      int4,
      (x) => sql`pg_catalog.cardinality(${x})`,
      'number of items of a list column',
    ),
    overlaps: row(
      ['list', 'list'],
      boolean,
      (a, b) => sql`(${a} operator(pg_catalog.&&) ${b})`,
      'the two lists have an item in common',
    ),
  }),
);

function substring(): FilterFunction {
  // Unlike `greatest`, the function is null if the length is.
  const write = (t: Sql, from: Sql, length?: Sql): Sql =>
    length
      ? sql`pg_catalog.substr(${t}, ${from}, pg_catalog.int4larger(${length}, 0))`
      : sql`pg_catalog.substr(${t}, ${from})`;
  return row(['text', 'whole', 'whole'], text, write, 'from the nth character, from 1; at most so many', {
    optional: 1,
  });
}
