import { expect } from 'chai';
import type { Catalog, Relation, Table } from '../../../src/db/catalog/catalog.js';
import type { Principal } from '../../../src/db/roles/principal.js';
import { openShop, roleWith, type Reply, type Shop } from './shop.js';
import {
  generator,
  randomCondition,
  randomTables,
  type Condition,
  type Random,
  type Row,
} from './randomTenant.js';
import { testSeed } from '../../support/randomNumbers.js';

export const SEED = testSeed();
const REQUESTS = 150;

/**
 * Random tables and rows, some hidden and some tables denied: aggregates must be made of what the role may read and of
 * nothing else, and a root field is refused exactly when it touches a denied table, wherever in it that is.
 * @param numbers of the random schemas
 */
export function itReadsWhatRolesMay(numbers: readonly number[]): void {
  for (const n of numbers) {
    it(`schema ${n}: ${REQUESTS} requests of each kind`, async () => {
      const random = generator(SEED + n);
      const shop = await openShop(randomTables(random));
      try {
        const catalog = await shop.engine.catalog(shop.tenant.tenantid, shop.tenant.schema);
        for (let round = 0; round < 6; round++) {
          const view = await View.random(shop, catalog, random);
          for (let q = 0; q < REQUESTS / 6; q++) {
            await compareAggregate(shop, view, random);
            await compareDenials(shop, view, random);
          }
        }
      } finally {
        await shop.close();
      }
    });
  }
}

/** What one role may read. */
class View {
  private constructor(
    readonly principal: Principal,
    readonly tables: readonly Table[],
    /** Rows by table; none for a table that is denied. */
    private readonly rows: ReadonlyMap<string, readonly Row[]>,
  ) {}

  static async random(shop: Shop, catalog: Catalog, random: Random): Promise<View> {
    const rows = new Map<string, readonly Row[]>();
    const rules = [];
    for (const table of catalog.tables.values()) {
      if (random(4) === 0) continue;
      const rule: Condition =
        random(2) === 0 ? { text: '', holds: () => true } : randomCondition(table, random);
      rules.push({ capabilities: ['select'], targets: [table.name], filter: rule.text });
      const found = await shop.test.database.pool.query<{ row: Row }>(
        `select to_json(t) as row from ${shop.tenant.schema}.${table.sqlName} t`,
      );
      rows.set(
        table.name,
        found.rows.map(({ row }) => row).filter((row) => rule.holds(row)),
      );
    }
    return new View(roleWith(shop, ['select'], rules), [...catalog.tables.values()], rows);
  }

  rowsOf(name: string): readonly Row[] | undefined {
    return this.rows.get(name);
  }

  pick(random: Random): Table {
    return this.tables[random(this.tables.length)]!;
  }

  denies(relation: Relation): boolean {
    const names = [relation.target, ...(relation.kind === 'many-to-many' ? [relation.through] : [])];
    return names.some((name) => !this.rows.has(name));
  }
}

type Aggregate = (values: readonly number[]) => number | null;
const AGGREGATES: Readonly<Record<string, Aggregate>> = {
  count: (values) => values.length,
  sum: (values) => (values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0)),
  avg: (values) =>
    values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0) / values.length,
  min: (values) => (values.length === 0 ? null : Math.min(...values)),
  max: (values) => (values.length === 0 ? null : Math.max(...values)),
};

async function compareAggregate(shop: Shop, view: View, random: Random): Promise<void> {
  const table = view.pick(random);
  const names = Object.keys(AGGREGATES);
  const name = names[random(names.length)]!;
  const key = table.columns.has('s') && random(2) === 0 ? 's' : undefined;
  const filter = random(2) === 0 ? randomCondition(table, random) : undefined;
  const query = `{ Aggregates { x: ${name}(subquery: "{ ${table.name} { n ${key ?? ''} } }"${
    key ? `, ordering: "${key}"` : ''
  }${filter ? `, filter: ${JSON.stringify(filter.text)}` : ''}) } }`;
  const reply = await shop.ask(query, {}, view.principal);
  const visible = view.rowsOf(table.name);
  if (!visible) {
    expect(deniedPaths(reply), query).to.deep.equal([['Aggregates', 'x']]);
    return;
  }
  const rows = visible.filter((row) => filter?.holds(row) ?? true);
  const keys = key ? distinct(rows.map((row) => row[key] as string | null)) : [undefined];
  const expected = keys.map((value) => {
    const values = rows
      .filter((row) => key === undefined || row[key] === value)
      .flatMap((row) => (row['n'] === null ? [] : [row['n'] as number]));
    return { [name]: AGGREGATES[name]!(values), ...(key ? { [key]: value } : {}) };
  });
  const { x } = (reply.data as unknown as { Aggregates: { x: readonly Row[] } }).Aggregates;
  expect(x.map(rounded), `${query}\n${reply.body}`).to.deep.equal(expected.map(rounded));
}

/** In PostgreSQL's order: nulls are the largest. */
function distinct(values: readonly (string | null)[]): readonly (string | null)[] {
  return [...new Set(values)].sort((a, b) => (a === null ? 1 : b === null ? -1 : a < b ? -1 : 1));
}

/** PostgreSQL gives an average with 16 digits behind the point. */
function rounded(row: Row): Row {
  const { avg } = row;
  return typeof avg === 'number' ? { ...row, avg: Number(avg.toFixed(9)) } : row;
}

async function compareDenials(shop: Shop, view: View, random: Random): Promise<void> {
  const roots = Array.from({ length: 1 + random(3) }, (_, i) => {
    const table = view.pick(random);
    const relations = [...table.relations.values()].filter(() => random(3) === 0);
    const asked = [...table.relations.values()].find(() => random(5) === 0);
    const filter = asked ? `(filter: "${asked.field}.n > 3 or id = 1")` : '';
    const usesId = !asked || table.columns.has('id');
    const selection = ['__typename', ...relations.map(({ field }) => `${field} { __typename }`)].join(' ');
    const touched = [...relations, ...(asked && usesId ? [asked] : [])];
    return {
      key: `x${i}`,
      text: `x${i}: ${table.name}${usesId ? filter : ''} { ${selection} }`,
      isDenied: !view.rowsOf(table.name) || touched.some((relation) => view.denies(relation)),
      rows: asked && usesId ? undefined : view.rowsOf(table.name)?.length,
    };
  });
  const query = `{ ${roots.map(({ text }) => text).join(' ')} }`;
  const reply = await shop.ask(query, {}, view.principal);
  const denied = roots.filter(({ isDenied }) => isDenied).map(({ key }) => [key]);
  expect(
    deniedPaths(reply).map(([key]) => [key]),
    `${query}\n${reply.body}`,
  ).to.deep.equal(denied);
  const data = reply.data as unknown as Record<string, readonly Row[] | null>;
  for (const { key, isDenied, rows } of roots) {
    if (isDenied) expect(data[key], query).to.equal(null);
    else if (rows !== undefined) expect(data[key], query).to.have.length(Math.min(rows, 100));
  }
}

function deniedPaths({ errors = [] }: Reply): readonly string[][] {
  for (const { extensions } of errors) expect(extensions.code).to.equal('PERMISSION_DENIED');
  return errors.map(({ path }) => path ?? []);
}
