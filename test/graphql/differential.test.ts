import { expect } from 'chai';
import { execute, parse, type GraphQLFieldResolver } from 'graphql';
import type { Catalog, ColumnPair, Table } from '../../src/db/catalog/catalog.js';
import { buildDataSchema } from '../../src/graphql/schema/dataSchema.js';
import { openShop, type Shop } from './support/shop.js';

const SEED = 20260102;
const QUERIES = 400;

const DDL = `
  create table region (id int primary key, name text);
  create table person (id int primary key, name text, region_id int references region, boss_id int references person);
  create table skill (code text primary key, label text);
  create table person_skill (person_id int references person, code text references skill, primary key (person_id, code));
  create table visit (person_id int references person, day date, region_id int references region, host_id int references person, primary key (person_id, day));
  insert into region select i, 'r' || i from generate_series(1, 4) i;
  insert into person select i, case when i % 7 = 0 then null else 'p' || i end, nullif(i % 5, 0), nullif(i / 3, 0) from generate_series(1, 30) i;
  insert into skill select 's' || i, 'label ' || i from generate_series(1, 5) i;
  insert into person_skill select p, 's' || s from generate_series(1, 30) p, generate_series(1, 5) s where (p * s) % 4 = 1;
  insert into visit select p, date '2026-01-01' + d, 1 + (p + d) % 4, nullif((p * d) % 31, 0) from generate_series(1, 30) p, generate_series(0, 2) d where (p + d) % 2 = 0;
`;

type Row = Readonly<Record<string, unknown>>;

/** Random selections, answered by the engine and by graphql-js walking rows in memory: the answers must be equal. */
describe('pass-through against graphql-js over a naive implementation', () => {
  let shop: Shop;
  before(async () => (shop = await openShop(DDL)));
  after(() => shop.close());

  it(`agrees on ${QUERIES} random queries`, async () => {
    const catalog = await shop.engine.catalog(shop.tenant.tenantid, shop.tenant.schema);
    const schema = buildDataSchema(catalog);
    const rows = await readAll(shop, catalog);
    const random = generator(SEED);
    for (let n = 0; n < QUERIES; n++) {
      const query = randomQuery(catalog, random);
      const expected = await execute({ schema, document: parse(query), fieldResolver: naive(catalog, rows) });
      const { body } = await shop.ask(query);
      expect(body, `seed ${SEED}, query ${n}: ${query}`).to.equal(JSON.stringify({ data: expected.data }));
    }
  });
});

async function readAll(shop: Shop, catalog: Catalog): Promise<ReadonlyMap<string, readonly Row[]>> {
  const all = new Map<string, readonly Row[]>();
  for (const table of catalog.tables.values()) {
    const key = table.primaryKey.map((column) => column.sqlName).join(', ');
    const { rows } = await shop.test.database.pool.query<{ row: Row }>(
      `select to_json(t) as row from ${shop.tenant.schema}.${table.sqlName} t order by ${key}`,
    );
    all.set(
      table.name,
      rows.map(({ row }) => row),
    );
  }
  return all;
}

function naive(
  catalog: Catalog,
  all: ReadonlyMap<string, readonly Row[]>,
): GraphQLFieldResolver<unknown, unknown> {
  const page = (rows: readonly Row[], args: Row): readonly Row[] => {
    const offset = Number(args['offset'] ?? 0);
    return rows.slice(offset, offset + Number(args['limit'] ?? 100));
  };
  const matching = (name: string, row: Row, pairs: readonly ColumnPair[]): readonly Row[] =>
    all
      .get(name)!
      .filter((other) => pairs.every((p) => row[p.here] !== null && other[p.there] === row[p.here]));
  return (source, args: Row, _context, info) => {
    if (info.parentType.name === 'Query') return page(all.get(info.fieldName)!, args);
    const row = source as Row;
    const relation = catalog.tables.get(info.parentType.name)!.relations.get(info.fieldName);
    if (!relation) return row[info.fieldName];
    if (relation.kind === 'to-one') return matching(relation.target, row, relation.pairs)[0] ?? null;
    if (relation.kind === 'to-many') return page(matching(relation.target, row, relation.pairs), args);
    const links = matching(relation.through, row, relation.nearPairs);
    const targets = all.get(relation.target)!;
    return page(
      targets.filter((target) =>
        links.some((link) => relation.farPairs.every((p) => link[p.here] === target[p.there])),
      ),
      args,
    );
  };
}

type Random = (below: number) => number;

function randomQuery(catalog: Catalog, random: Random): string {
  const tables = [...catalog.tables.values()];
  const fields = Array.from({ length: 1 + random(2) }, (_, i) => {
    const table = tables[random(tables.length)]!;
    return `root${i}: ${table.name}${randomPage(random)} ${randomSelection(catalog, table, 3, random)}`;
  });
  return `{ ${fields.join(' ')} }`;
}

function randomSelection(catalog: Catalog, table: Table, depth: number, random: Random): string {
  const columns = [...table.columns.keys()].filter(() => random(2) === 0);
  const relations = depth === 0 ? [] : [...table.relations.values()].filter(() => random(3) === 0);
  const parts = [
    ...(random(4) === 0 ? ['kind: __typename'] : []),
    ...columns.map((name) => (random(3) === 0 ? `c_${name}: ${name}` : name)),
    ...relations.map((relation, i) => {
      const page = relation.kind === 'to-one' ? '' : randomPage(random);
      const inner = randomSelection(catalog, catalog.tables.get(relation.target)!, depth - 1, random);
      return `${random(2) === 0 ? `r${i}: ` : ''}${relation.field}${page} ${inner}`;
    }),
  ];
  return `{ ${parts.length === 0 ? '__typename' : parts.join(' ')} }`;
}

function randomPage(random: Random): string {
  const args = [
    ...(random(2) === 0 ? [`limit: ${1 + random(5)}`] : []),
    ...(random(3) === 0 ? [`offset: ${random(4)}`] : []),
  ];
  return args.length === 0 ? '' : `(${args.join(', ')})`;
}

/** A linear congruential generator: the same queries on every run. */
function generator(seed: number): Random {
  let state = seed;
  return (below) => {
    state = (state * 1_664_525 + 1_013_904_223) % 4_294_967_296;
    return Math.floor((state / 4_294_967_296) * below);
  };
}
