import type { ColumnPair, Relation } from './catalog.js';
import type { RawForeignKey, RawTable } from './introspect.js';
import { graphqlName, NameScope } from './names.js';
import { columnType } from './types.js';

/** A relation before it is named, with its candidate names, best first. */
interface RelationCandidate {
  readonly names: readonly [preferred: string, fallback: string];
  /** If two relations want a name, the lower rank gets it; if their ranks are equal, neither does. */
  readonly rank: number;
  readonly build: (field: string) => Relation;
}

/**
 * Relation fields of every table, in both directions (for names see docs/reference/query.md). `names` has the GraphQL names of the
 * tables, `columns` the names taken in each table. Fields that had to be numbered are added to `problems`.
 */
export function deriveRelations(
  tables: readonly RawTable[],
  names: ReadonlyMap<string, string>,
  columns: ReadonlyMap<string, ReadonlySet<string>>,
  problems: string[],
): Map<string, ReadonlyMap<string, Relation>> {
  const wishes = new Map<string, RelationCandidate[]>(tables.map((table) => [table.name, []]));
  const nameOf = (table: string): string => names.get(table) ?? table;
  for (const table of tables) {
    for (const key of table.foreignKeys) {
      wishes.get(table.name)?.push(toOne(table, key, nameOf));
      wishes.get(key.target)?.push(toMany(table, key, nameOf));
    }
    for (const [near, far] of joinDirections(table)) {
      wishes.get(near.target)?.push(manyToMany(table, near, far, nameOf));
    }
  }
  return new Map(
    tables.map((table) => [
      table.name,
      nameRelations(table.name, wishes.get(table.name) ?? [], columns.get(table.name) ?? new Set(), problems),
    ]),
  );
}

/**
 * Uses the short name unless a column has it or another relation has an equal or better claim, and the long one otherwise.
 * So adding a join table later renames nothing.
 */
function nameRelations(
  table: string,
  wishes: readonly RelationCandidate[],
  columns: ReadonlySet<string>,
  problems: string[],
): ReadonlyMap<string, Relation> {
  const scope = new NameScope(columns);
  const claims = bestClaims(wishes);
  const relations = new Map<string, Relation>();
  for (const wish of wishes) {
    const [preferred, fallback] = wish.names;
    const name = claims.get(preferred) === wish && !columns.has(preferred) ? preferred : fallback;
    const field = scope.take(name);
    if (field !== name)
      problems.push(`${table}: the relation ${name} is served as ${field}, its name being taken`);
    relations.set(field, wish.build(field));
  }
  return relations;
}

/** By preferred name, the relation with the best claim to it; undefined if several have equal ones. */
function bestClaims(
  wishes: readonly RelationCandidate[],
): ReadonlyMap<string, RelationCandidate | undefined> {
  const ranks = new Map<string, number>();
  const best = new Map<string, RelationCandidate | undefined>();
  for (const wish of wishes) {
    const [name] = wish.names;
    const known = ranks.get(name);
    if (known !== undefined && known < wish.rank) continue;
    ranks.set(name, wish.rank);
    best.set(name, known === wish.rank ? undefined : wish);
  }
  return best;
}

type NameOf = (table: string) => string;

function toOne(table: RawTable, key: RawForeignKey, nameOf: NameOf): RelationCandidate {
  const target = nameOf(key.target);
  return {
    names: [target, graphqlName(`${stem(key.columns)}_${target}`)],
    rank: 0,
    build: (field) => ({ kind: 'to-one', field, target, pairs: pairs(table, key) }),
  };
}

function toMany(child: RawTable, key: RawForeignKey, nameOf: NameOf): RelationCandidate {
  const target = nameOf(child.name);
  return {
    names: [graphqlName(`${target}_collection`), graphqlName(`${stem(key.columns)}_${target}_collection`)],
    rank: 1,
    build: (field) => ({ kind: 'to-many', field, target, pairs: reversed(pairs(child, key)) }),
  };
}

function manyToMany(
  join: RawTable,
  near: RawForeignKey,
  far: RawForeignKey,
  nameOf: NameOf,
): RelationCandidate {
  const target = nameOf(far.target);
  return {
    names: [
      graphqlName(`${target}_collection`),
      graphqlName(`${nameOf(join.name)}_${stem(far.columns)}_${target}_collection`),
    ],
    rank: 2,
    build: (field) => ({
      kind: 'many-to-many',
      field,
      target,
      through: nameOf(join.name),
      nearPairs: reversed(pairs(join, near)),
      farPairs: pairs(join, far),
    }),
  };
}

/** Both directions through a table whose primary key consists of the columns of its two foreign keys. */
function joinDirections(table: RawTable): readonly (readonly [near: RawForeignKey, far: RawForeignKey])[] {
  const [one, two, third] = table.foreignKeys;
  const primary = table.keys.find((key) => key.primary);
  if (!one || !two || third || !primary) return [];
  const columns = [...one.columns, ...two.columns];
  const isItsKey =
    new Set(columns).size === columns.length &&
    columns.length === primary.columns.length &&
    primary.columns.every((column) => columns.includes(column));
  return isItsKey
    ? [
        [one, two],
        [two, one],
      ]
    : [];
}

/** `billing_customer_id` → `billing_customer`; several columns are joined by `_`. */
function stem(columns: readonly string[]): string {
  return columns
    .map((column) => column.replace(/_id$/i, '').replace(/[^_0-9A-Za-z]/g, '_'))
    .join('_')
    .replace(/^([0-9])/, '_$1')
    .replace(/^__+/, '_');
}

/** From the columns of a foreign key to those that it references. */
function pairs(table: RawTable, { columns, targetColumns }: RawForeignKey): ColumnPair[] {
  return columns.map((here, index) => {
    const raw = table.columns.find(({ name }) => name === here)?.type;
    const type = raw?.operators == null ? {} : { type: columnType(raw) };
    return { here, there: targetColumns[index] ?? here, ...type };
  });
}

function reversed(given: readonly ColumnPair[]): ColumnPair[] {
  return given.map((pair) => ({ ...pair, here: pair.there, there: pair.here }));
}
