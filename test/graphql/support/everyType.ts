import type { PostgresMajor } from '../../support/postgresServer.js';
import { openShop, type Reply, type Shop } from './shop.js';

/** Extensions of PostgreSQL with types, that a database's owner may create. */
const EXTENSIONS = ['citext', 'cube', 'hstore', 'intarray', 'isn', 'ltree', 'seg'];

const OWN_TYPES = `
  create type mood as enum ('sad', 'very happy');
  create type pair as (x int, y text);
  create type money_range as range (subtype = numeric);
  create domain positive as int check (value > 0);
  create domain tags as text[];
  create domain feeling as mood;
  create domain couple as pair;`;

/** Texts of which each type takes some and refuses others: ordinary, extreme and broken ones. */
const TEXTS = [
  ...[
    '1',
    '-1',
    '0',
    '2147483647',
    '9223372036854775807',
    '1e400',
    'NaN',
    'infinity',
    '-infinity',
    '1.50',
    '1/0',
  ],
  ...['', ' ', 'a', 'é😀', "it's", 'true', 'sad', 'very happy', '\\x', '\\x00ff', 'x'.repeat(300)],
  ...['2026-02-30', '2026-02-28', '0044-03-15 BC', '294276-12-31 23:59:59', '24:00:00', '1 day', 'now'],
  ...[
    '{}',
    '{1,2}',
    '{1,NULL}',
    '{"a": 1}',
    '{"a": "\\u0000"}',
    '[]',
    '[1,2]',
    '[1,5)',
    'empty',
    '(,)',
    '{[1,2)}',
  ],
  ...[
    '(1,2)',
    '((0,0),(1,1))',
    '<(0,0),1>',
    '[(0,0),(1,1)]',
    '(1,"a b")',
    '1 2',
    "'a' & 'b'",
    "'a':1A 'b'",
    "'a",
  ],
  ...['0b0c8f6e-57a5-4c6c-9a57-0f8f6e0b0c8f', '10.0.0.1/8', '::1', '08:00:2b:01:02:03', '101', '16/B374D848'],
  ...[
    '$.a',
    '$.a ? (',
    'a.b',
    'a.*{2}',
    'a=>1',
    'a=>',
    '<a/>',
    '<a>',
    'pg_class',
    'pg_nothing',
    'int4',
    'int4(',
    'now()',
  ],
  ...[
    '+',
    '+(int4,int4)',
    'english',
    '978-0-393-04002-9',
    '979-0-2600-0043-8',
    '1436-4522',
    '220356483481',
    '1..2',
    '=r/postgres',
    '10:20:10,14',
    '((bad',
  ],
];

export interface TypeCase {
  readonly type: string;
  readonly table: string;
  /** Whether a text is the item of a list. */
  readonly list: boolean;
  /** By text: as PostgreSQL shows it, or undefined if it refuses it. */
  readonly shown: ReadonlyMap<string, string | undefined>;
}

/** All types that a column may have, each with a table `id, v` of its own, and what PostgreSQL says of each text. */
export async function openTypes(
  postgres: PostgresMajor,
): Promise<{ shop: Shop; cases: readonly TypeCase[] }> {
  const shop = await openShop('', {}, postgres);
  const { pool } = shop.test.database;
  for (const name of EXTENSIONS) await pool.query(`create extension ${name} schema public`);
  await shop.sql(OWN_TYPES);
  const { rows } = await pool.query<{ type: string; oid: string; list: boolean }>(
    `select format('%I.%I', n.nspname, t.typname) as type, t.oid::text, t.typcategory = 'A' and t.typtype = 'b' as list
     from pg_type t join pg_namespace n on n.oid = t.typnamespace
     where n.nspname in ('pg_catalog', 'public', $1) and t.typtype in ('b', 'e', 'r', 'm', 'd', 'c')
       and not exists (select from pg_class c where c.reltype in (t.oid, nullif(t.typelem, 0)) and c.reltype <> 0 and c.relkind <> 'c')
       and t.typelem not in (select oid from pg_type where typtype = 'p')
     order by 1`,
    [shop.tenant.schema],
  );
  await shop.sql(
    rows.map(({ type, oid }) => `create table t${oid} (id int primary key, v ${type});`).join('\n') +
      `create function shown(type text, list boolean, given text) returns text language plpgsql as $$
         declare result text;
         begin
           execute format(case when list then 'select (array[%L]::%s)::text' else 'select %L::%s::text' end, given, type) into result;
           return 'y' || result;
         exception when others then return 'n';
         end $$;
       create view texts as select o.oid, t.n, shown(o.type, o.list, t.given) as shown
         from (values ${rows.map(({ type, oid, list }) => `(${oid}, '${type.replaceAll("'", "''")}', ${list})`).join(', ')}) o(oid, type, list),
           (values ${TEXTS.map((text, n) => `(${n}, '${text.replaceAll("'", "''")}')`).join(', ')}) t(n, given);`,
  );
  await shop.engine.introspect(shop.tenant.tenantid, shop.tenant.schema);
  const said = await sayings(shop);
  const cases = rows.map(({ type, oid, list }) => ({
    type,
    list,
    table: `t${oid}`,
    shown: new Map(TEXTS.map((text, n) => [text, said.get(`${oid} ${n}`)])),
  }));
  return { shop, cases };
}

/** What PostgreSQL says to the tenant's role, in the session in which it runs the API's statements. */
async function sayings(shop: Shop): Promise<ReadonlyMap<string, string | undefined>> {
  const said = new Map<string, string | undefined>();
  for (const [n] of TEXTS.entries()) {
    const { body } = await shop.ask(`{ texts(filter: "n = ${n}", limit: 1000) { oid shown } }`);
    const { data } = JSON.parse(body) as { data: { texts: { oid: number; shown: string }[] } };
    for (const { oid, shown } of data.texts)
      said.set(`${oid} ${n}`, shown.startsWith('y') ? shown.slice(1) : undefined);
  }
  return said;
}

/** Errors of a value that a type refuses. */
const REFUSALS: ReadonlySet<string | undefined> = new Set([
  'BAD_USER_INPUT',
  'GRAPHQL_VALIDATION',
  'CHECK_VIOLATION',
  'FILTER_TYPE',
]);

const codeOf = ({ errors }: Reply): string | undefined => errors?.[0]?.extensions.code;

/**
 * Sends a text by every way in, and looks for it in every way: what differs from what PostgreSQL says.
 * @param isBrief only by a way for one row, one for many, and one filter
 */
export async function checkText(
  shop: Shop,
  { type, table, list, shown }: TypeCase,
  text: string,
  isBrief = false,
): Promise<string[]> {
  const wrong: string[] = [];
  const { tenantid, schema } = shop.tenant;
  const column = (await shop.engine.catalog(tenantid, schema)).tables.get(table)?.columns.get('v');
  if (!column) throw new Error(`${table} has no column`);
  const { kind, composite } = column.type;
  const item = kind === 'boolean' ? text === 'true' : kind === 'json' || composite ? jsonOr(text) : text;
  const v = list || column.type.array ? [item] : item;
  const expected = shown.get(text);
  /** Values with a form of their own in JSON, or that change by the minute. */
  const isComparable =
    !['json', 'bytea', 'boolean'].includes(kind) &&
    !text.startsWith('now') &&
    !composite &&
    column.type.array === list;
  const expect = (way: string, reply: Reply, response?: (expected: string) => unknown): void => {
    const code = codeOf(reply);
    const tell = (what: string): number =>
      wrong.push(`${type} ${way} ${JSON.stringify(text).slice(0, 40)}: ${what} ${reply.body.slice(0, 300)}`);
    if (reply.status === 500 || code === 'INTERNAL_ERROR' || code === 'TENANT_CODE_FAILED')
      tell("is not the service's error");
    else if (code !== undefined && !REFUSALS.has(code)) tell('is another error');
    else if (isComparable && response && expected === undefined && code === undefined)
      tell('is refused by PostgreSQL');
    else if (isComparable && response && expected !== undefined && code === undefined) {
      if (JSON.stringify(reply.data) !== JSON.stringify(response(expected))) tell(`should be ${expected}`);
    }
    const [error] = reply.errors ?? [];
    const isNamed = error?.extensions['column'] === 'v' || / at "row\.v/.test(error?.message ?? '');
    if (code === 'BAD_USER_INPUT' && response && !isNamed) tell('names no column');
  };
  const declared = `$row: ${table}Input!`;
  const selected = '{ id v(cast: text) }';
  const one = (shownText: string) => ({ row: { id: '1', v: shownText } });
  const many = (shownText: string) => ({ row: [{ id: '1', v: shownText }] });
  const clear = () => shop.ask(`mutation { delete_${table}(id: 1) { id } }`);
  const ways = [
    ['create', `create_${table}(input: $row)`, one],
    ['upsert', `create_${table}(input: $row, onconflict: update)`, one],
    ['update', `update_${table}(id: 1, input: $row)`, one],
    ['create_many', `create_many_${table}(input: [$row])`, many],
    ['upsert of many', `create_many_${table}(input: [$row], onconflict: update)`, many],
  ] as const;
  for (const [way, mutation, response] of ways) {
    if (isBrief && !way.startsWith('create')) continue;
    if (way === 'update')
      await shop.ask(`mutation { create_${table}(input: { id: 1 }, onconflict: ignore) { id } }`);
    else if (!way.startsWith('upsert')) await clear();
    const sent = `mutation (${declared}) { row: ${mutation} ${selected} }`;
    expect(way, await shop.ask(sent, { row: { id: 1, v } }), response);
  }
  const quoted = `'${text.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`;
  const literal = list ? `[${quoted}]` : quoted;
  for (const filter of [
    `v = ${literal}`,
    `v in [${literal}]`,
    `v != ${literal}`,
    `v > ${literal}`,
    'v is null',
  ]) {
    const found = await shop.ask(`query ($filter: String) { ${table}(filter: $filter) { id v } }`, {
      filter,
    });
    expect(`filter ${filter.slice(0, 5)}`, found);
    if (isBrief) break;
    const events = [{ old: null, new: JSON.stringify({ id: 1, v: expected ?? null }) }];
    const condition = filter.replace('v ', 'new.v ');
    await shop.engine.evaluateCondition(tenantid, schema, table, condition, events).then(
      ([verdict]) => {
        if (typeof verdict !== 'boolean' && !REFUSALS.has(verdict?.code))
          wrong.push(`${type} condition ${condition}: ${String(verdict)}`);
      },
      (error: unknown) => {
        if (!REFUSALS.has((error as { code?: string }).code))
          wrong.push(`${type} condition ${condition}: ${String(error)}`);
      },
    );
  }
  return wrong;
}

/** What does not depend on a value: ordering, aggregates and templates. */
export async function checkTable(shop: Shop, { type, table }: TypeCase): Promise<string[]> {
  const wrong: string[] = [];
  const allowed: ReadonlySet<string | undefined> = new Set([
    undefined,
    'ORDERING_INVALID',
    'BAD_USER_INPUT',
    'FILTER_TYPE',
  ]);
  for (const query of [
    `{ ${table}(ordering: "v desc") { id v } }`,
    `{ Aggregates { max(subquery: "{ ${table} { v } }") } }`,
    `{ Aggregates { sum(subquery: "{ ${table} { v } }") } }`,
    `{ Aggregates { count(subquery: "{ ${table} { id v } }") } }`,
    `{ Aggregates { count(subquery: "{ ${table} { id v } }", distincton: "v") } }`,
  ]) {
    const reply = await shop.ask(query);
    if (!allowed.has(codeOf(reply))) wrong.push(`${type} ${query}: ${reply.body}`);
  }
  await shop.engine.runEmailQuery(shop.root, { query: `{ ${table} { id v } }` }).catch((error: unknown) => {
    wrong.push(`${type} in a template: ${String(error)}`);
  });
  return wrong;
}

function jsonOr(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}
