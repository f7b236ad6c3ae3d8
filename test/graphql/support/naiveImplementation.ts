import { expect } from 'chai';
import { execute, parse, type GraphQLFieldResolver } from 'graphql';
import type { Catalog, ColumnPair, Relation, Table } from '../../../src/db/catalog/catalog.js';
import { buildDataSchema } from '../../../src/graphql/schema/dataSchema.js';
import { openShop, roleWith, type Shop } from './shop.js';
import {
  behind,
  generator,
  randomCondition,
  randomTables,
  type Condition,
  type Random,
  type Row,
} from './randomTenant.js';
import { testSeed } from '../../support/randomNumbers.js';

export const SEED = testSeed();
const QUERIES = 200;

/**
 * Random tables, rows, policies and queries, answered by the engine and by graphql-js walking rows in memory. The
 * responses must be equal byte for byte.
 * @param numbers of the random schemas
 */
export function itAnswersLikeGraphqlJs(numbers: readonly number[]): void {
  for (const n of numbers) {
    it(`schema ${n}: ${QUERIES} queries`, async () => {
      const random = generator(SEED + n);
      const shop = await openShop(randomTables(random));
      try {
        await compare(shop, random);
      } finally {
        await shop.close();
      }
    });
  }
}

async function compare(shop: Shop, random: Random): Promise<void> {
  const catalog = await shop.engine.catalog(shop.tenant.tenantid, shop.tenant.schema);
  const schema = buildDataSchema(catalog);
  const everything = await readAll(shop, catalog);
  let model = new Model(catalog, everything, new Map());
  let principal = shop.root;
  for (let q = 0; q < QUERIES; q++) {
    if (q % 25 === 24) {
      const policies = new Map(
        [...catalog.tables.values()].flatMap((table): [string, Condition][] =>
          random(2) === 0 ? [[table.name, randomCondition(table, random)]] : [],
        ),
      );
      model = new Model(catalog, everything, policies);
      principal = roleWith(
        shop,
        ['select'],
        [...catalog.tables.keys()].map((name) => {
          const filter = policies.get(name)?.text;
          return { capabilities: ['select'], targets: [name], ...(filter === undefined ? {} : { filter }) };
        }),
      );
    }
    const query = randomQuery(model, random);
    const document = parse(query);
    const expected = await execute({ schema, document, fieldResolver: model.resolver() });
    const { body } = await shop.ask(query, {}, principal);
    expect(body, `query ${q}: ${query}`).to.equal(JSON.stringify({ data: expected.data }));
  }
}

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

/** The rows that a role may see, walked the plain way. */
class Model {
  readonly #rows: ReadonlyMap<string, readonly Row[]>;
  readonly #conditions = new Map<string, Condition>();

  constructor(
    readonly catalog: Catalog,
    all: ReadonlyMap<string, readonly Row[]>,
    policies: ReadonlyMap<string, Condition>,
  ) {
    this.#rows = new Map(
      [...all].map(([name, rows]) => [name, rows.filter((row) => policies.get(name)?.holds(row) ?? true)]),
    );
  }

  /** Has its text understood by the resolvers. */
  remember(table: Table, condition: Condition): string {
    this.#conditions.set(`${table.name} ${condition.text}`, condition);
    return condition.text;
  }

  related(relation: Relation, row: Row): readonly Row[] {
    const matching = (name: string, pairs: readonly ColumnPair[]): readonly Row[] =>
      this.#rows
        .get(name)!
        .filter((other) => pairs.every((p) => row[p.here] !== null && other[p.there] === row[p.here]));
    if (relation.kind !== 'many-to-many') return matching(relation.target, relation.pairs);
    const links = matching(relation.through, relation.nearPairs);
    return this.#rows
      .get(relation.target)!
      .filter((target) =>
        links.some((link) => relation.farPairs.every((p) => link[p.here] === target[p.there])),
      );
  }

  resolver(): GraphQLFieldResolver<unknown, unknown> {
    return (source, args: Row, _context, info) => {
      if (info.parentType.name === 'Query')
        return this.#page(info.fieldName, this.#rows.get(info.fieldName)!, args);
      const row = source as Row;
      const relation = this.catalog.tables.get(info.parentType.name)!.relations.get(info.fieldName);
      if (!relation) return row[info.fieldName];
      const rows = this.related(relation, row);
      return relation.kind === 'to-one' ? (rows[0] ?? null) : this.#page(relation.target, rows, args);
    };
  }

  #page(table: string, rows: readonly Row[], { filter, ordering, limit, offset }: Row): readonly Row[] {
    const condition = this.#conditions.get(`${table} ${(filter ?? '') as string}`);
    const found = condition ? rows.filter(condition.holds) : rows;
    const [item] = (ordering ?? []) as string[];
    const [name = '', direction] = (item ?? '').split(' ');
    const sign = direction === 'desc' ? -1 : 1;
    // Rows come by their key, and sorting is stable.
    const sorted = name === '' ? found : [...found].sort((a, b) => sign * compareValues(a[name], b[name]));
    const start = Number(offset ?? 0);
    return sorted.slice(start, start + Number(limit ?? 100));
  }
}

/** As PostgreSQL sorts: nulls are the largest. */
function compareValues(a: unknown, b: unknown): number {
  if (a === b) return 0;
  if (a === null || b === null) return a === null ? 1 : -1;
  return (a as string | number) < (b as string | number) ? -1 : 1;
}

function randomQuery(model: Model, random: Random): string {
  const tables = [...model.catalog.tables.values()];
  const fields = Array.from({ length: 1 + random(2) }, (_, i) => {
    const table = tables[random(tables.length)]!;
    return `root${i}: ${table.name}${randomPage(model, table, random)} ${randomSelection(model, table, 3, random)}`;
  });
  return `{ ${fields.join(' ')} }`;
}

function randomSelection(model: Model, table: Table, depth: number, random: Random): string {
  const columns = [...table.columns.keys()].filter(() => random(2) === 0);
  const relations = depth === 0 ? [] : [...table.relations.values()].filter(() => random(3) === 0);
  const parts = [
    ...(random(4) === 0 ? ['kind: __typename'] : []),
    ...columns.map((name) => (random(3) === 0 ? `c_${name}: ${name}` : name)),
    ...relations.map((relation, i) => {
      const target = model.catalog.tables.get(relation.target)!;
      const page = relation.kind === 'to-one' ? '' : randomPage(model, target, random);
      const inner = randomSelection(model, target, depth - 1, random);
      return `${random(2) === 0 ? `r${i}: ` : ''}${relation.field}${page} ${inner}`;
    }),
  ];
  return `{ ${parts.length === 0 ? '__typename' : parts.join(' ')} }`;
}

function randomPage(model: Model, table: Table, random: Random): string {
  const columns = [...table.columns.keys()];
  const order = `${columns[random(columns.length)]!}${random(2) === 0 ? ' desc' : ''}`;
  const args = [
    ...(random(3) === 0
      ? [`filter: ${JSON.stringify(model.remember(table, randomFilter(model, table, random)))}`]
      : []),
    ...(random(3) === 0 ? [`ordering: "${order}"`] : []),
    ...(random(2) === 0 ? [`limit: ${1 + random(5)}`] : []),
    ...(random(3) === 0 ? [`offset: ${random(4)}`] : []),
  ];
  return args.length === 0 ? '' : `(${args.join(', ')})`;
}

function randomFilter(model: Model, table: Table, random: Random): Condition {
  const own = randomCondition(table, random);
  const relations = [...table.relations.values()];
  const relation = relations[random(relations.length + 1)];
  if (!relation) return own;
  const inner = randomCondition(model.catalog.tables.get(relation.target)!, random);
  return behind(relation, inner, (row) => model.related(relation, row)) ?? own;
}
