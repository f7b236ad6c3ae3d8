import { readFileSync } from 'node:fs';
import pg from 'pg';
import { bind, sql, toStatement } from '../../../src/db/sql/sql.js';
import { FUNCTIONS, type Parameter } from '../../../src/graphql/filter/values/functionTable.js';
import { compileShopFilter, openShop, type Shop } from './shop.js';

/** Columns of `orders` with values of a megabyte, and a number of as many digits as PostgreSQL has. */
const LONG_ROW = `
  insert into shop.orders (id, status, "like", total, qty, created, local, day, at, lasting, data, raw, bytes, tags, numbers, paid)
  select 9, text, text, (10::numeric ^ 131000 - 1), 7, now(), now(), now(), now(), '1 day', doc::jsonb, doc::json,
    convert_to(text, 'utf8'), string_to_array(repeat('ab,', 300000), ','), array_fill(7, array[250000]), false
  from (select repeat('Ab ', 340000) as text, '[' || repeat('1,', 500000) || '1]' as doc) made`;

const ARGUMENTS: Readonly<Record<Parameter, string>> = {
  text: 'status',
  number: 'total',
  whole: '900000',
  moment: 'created',
  span: 'lasting',
  interval: 'lasting',
  unit: "'hour'",
  wholeUnit: "'hour'",
  json: 'data',
  list: 'tags',
  same: 'status',
  any: 'status',
};

const repeated = (part: string, count: number, separator: string): string =>
  Array<string>(count).fill(part).join(separator);
const nested = (wrap: (inner: string) => string, start: string, depth: number): string => {
  let text = start;
  for (let i = 0; i < depth; i++) text = wrap(text);
  return text;
};

/** Expressions up to the limits of nodes and depth, by what is repeated in them. */
export function heaviestFilters(): Map<string, string> {
  const filters = new Map<string, string>();
  const add = (name: string, value: string): void => void filters.set(name, value);
  // PostgreSQL drops equal conditions of an OR.
  const conditions = (value: string, count: number): string =>
    Array.from({ length: count }, (_, i) => `((${value} is null) is distinct from (id > ${i + 10}))`).join(
      ' or ',
    );
  for (const [name, { parameters }] of FUNCTIONS) {
    const args = parameters.map((parameter) => ARGUMENTS[parameter]);
    const nodes = 6 + args.length;
    add(`${name}, repeated`, conditions(`${name}(${args.join(', ')})`, Math.floor(990 / nodes)));
    const [, ...others] = args;
    add(
      `${name}, nested`,
      `${nested((inner) => `${name}(${[inner, ...others].join(', ')})`, args[0] ?? '', 60)} is null`,
    );
  }
  for (const column of ['data', 'raw', 'bytes', 'tags', 'numbers', 'total', 'status'])
    for (const name of ['text', 'concat', 'number'])
      add(`${name} of ${column}`, conditions(`${name}(${column})`, 140));
  add('concat of many', `concat(${repeated('status', 900, ', ')}) is null`);
  add(
    'concat of concats',
    `${nested((inner) => `concat(${inner}, ${repeated('status', 14, ', ')})`, 'status', 60)} is null`,
  );
  add('concat doubled', `concat(${repeated(`concat(${repeated('status', 28, ', ')})`, 30, ', ')}) is null`);
  for (const operator of ['+', '-', '*', '/', '%', '^', '#', '<<'])
    add(operator, conditions(`(total ${operator} total)`, 120));
  add('* nested', `${nested((inner) => `(${inner} * total)`, 'total', 60)} is null`);
  for (const test of [
    "status like '%x%'",
    "status ilike '%x%'",
    "'x' like status",
    "status = 'x'",
    'status = "like"',
    'data = raw',
    "data = '[1]'",
    "tags like 'x'",
    "'x' in tags",
    'bytes = bytes',
    'tags = tags',
    'status < "like"',
    'code = status',
    'overlaps(tags, tags)',
  ])
    add(test, conditions(`(${test.replaceAll('"like"', '`like`')})`, 110));
  return filters;
}

export interface Weighed {
  readonly megabytes: number;
  readonly ms: number;
  readonly code?: string;
}

/** The memory that a backend of its own takes for a filter, beyond what it had. */
export async function weigh(shop: Shop, filter: string, timeoutMs = 20_000): Promise<Weighed> {
  const client = new pg.Client({ connectionString: shop.db.url });
  await client.connect();
  client.on('error', () => undefined);
  const startedAt = performance.now();
  let code: string | undefined;
  let before = 0;
  let pid = 0;
  try {
    const { rows } = await client.query<{ pid: number }>(
      `select pg_backend_pid() as pid, set_config('statement_timeout', '${timeoutMs}', false)`,
    );
    pid = rows[0]!.pid;
    await client.query('select id from shop.orders where status is null');
    before = peakOf(pid);
    const { where, inputs } = compileShopFilter('orders', filter);
    const statement = toStatement(sql`select r.id from shop.orders r where r.id = 9 and ${where}`);
    await client.query(statement.text, bind(statement, inputs));
  } catch (error) {
    code = (error as { code?: string }).code ?? String(error);
  }
  const ms = performance.now() - startedAt;
  const megabytes = peakOf(pid) - before;
  await client.end();
  return { megabytes, ms, ...(code === undefined ? {} : { code }) };
}

function peakOf(pid: number): number {
  return Number(/VmHWM:\s*(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;
}

export async function openLongShop(): Promise<Shop> {
  const shop = await openShop();
  await shop.db.database.pool.query(LONG_ROW);
  return shop;
}
