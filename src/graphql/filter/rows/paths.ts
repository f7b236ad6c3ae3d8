import { closestName, suggestion } from 'rowpost-jinja2/suggestion';
import type { Column, ColumnPair, ColumnType, Relation, Table } from '../../../db/catalog/catalog.js';
import { equal } from '../../../db/catalog/operators.js';
import { fullSqlType, isComparedAsBase } from '../../../db/catalog/types.js';
import { identifier, join, sql, typeName, type Sql } from '../../../db/sql/sql.js';
import { conjunction } from '../conjunction.js';
import type { Condition, Place, Value } from '../environment.js';
import { widest, type ReadExtent } from './readExtent.js';
import { errorAt, type Position } from '../syntax/errors.js';
import { behindPolicies } from './securityBarrier.js';
import { FILTER_LIMITS } from '../syntax/limits.js';
import type { Predicate, Row } from './scope.js';
import type { PathNode } from '../syntax/tree.js';
import { isLong, TYPES } from '../types.js';

/** A path resolved in the catalog: from the current row through relations to a column. */
export interface ResolvedPath {
  readonly start: Row;
  /** The key of `start` in `Environment.rows`. */
  readonly startKey: string;
  readonly hops: readonly Hop[];
  /** Undefined for `new` and `old` themselves. */
  readonly column: Column | undefined;
}

export interface Hop {
  readonly relation: Relation;
  readonly target: Table;
  /** The key of the row it leads to. */
  readonly key: string;
}

export function isToMany(hop: Hop): boolean {
  return hop.relation.kind !== 'to-one';
}

/**
 * Resolves a path, starting at the root.
 * @throws AppError FILTER_UNKNOWN_COLUMN with the closest name as a hint
 */
export function resolvePath(node: PathNode, { root, rows, scope }: Place): ResolvedPath {
  const names = [...node.names];
  let startKey = '';
  if (root === 'records') {
    startKey = names.shift() ?? '';
    if (startKey !== 'new' && startKey !== 'old') {
      const hint = `A condition is over the records new and old: write new.${startKey} or old.${startKey}. Text is written in single quotes: '${startKey}'.`;
      throw errorAt('FILTER_UNKNOWN_COLUMN', `Unknown record "${startKey}"`, node.at, hint);
    }
  }
  const start = rows.get(startKey);
  if (!start) throw new Error(`no row at "${startKey}"`);
  const columnName = names.pop();
  const hops: Hop[] = [];
  let { table } = start;
  let key = startKey;
  for (const name of names) {
    const relation = table.relations.get(name);
    const target = relation && scope.catalog.tables.get(relation.target);
    if (!relation || !target) throw unknownRelation(table, name, node.at);
    key += `.${name}`;
    hops.push({ relation, target, key });
    table = target;
  }
  if (columnName === undefined) return { start, startKey, hops, column: undefined };
  const column = table.columns.get(columnName);
  if (!column) throw unknownColumn(table, columnName, node.at);
  return { start, startKey, hops, column };
}

function unknownRelation(table: Table, name: string, at: Position): Error {
  const message = `"${table.name}" has no relation "${name}"`;
  return errorAt('FILTER_UNKNOWN_COLUMN', message, at, relationHint(table, name));
}

function relationHint(table: Table, name: string): string | undefined {
  if (table.columns.has(name)) return `"${name}" is a column: nothing can follow it.`;
  // As SQL allows.
  if (name === table.name) return `The rows are those of ${name}: write its columns without "${name}.".`;
  return suggestion(name, table.relations.keys());
}

function unknownColumn(table: Table, name: string, at: Position): Error {
  const hint = table.relations.has(name)
    ? `"${name}" is a relation: write ${name}.column.`
    : unknownNameHint(name, [...table.columns.keys(), ...table.relations.keys()]);
  return errorAt('FILTER_UNKNOWN_COLUMN', `"${table.name}" has no column "${name}"`, at, hint);
}

/** A name like none of the columns is most often a text without quotes. */
function unknownNameHint(name: string, names: readonly string[]): string | undefined {
  const hint = suggestion(name, names);
  return closestName(name, names) === undefined
    ? `Text stands in single quotes: '${name}'. ${hint ?? ''}`.trim()
    : hint;
}

/** The column's value, or null if a relation on the path has no row that the role may read. */
export function compileColumn({ start, hops, column }: ResolvedPath, node: PathNode, place: Place): Value {
  if (!column) {
    const hint = `Write ${node.names.join('.')}.column; the record itself can only be used with IS NULL.`;
    throw errorAt('FILTER_TYPE', `"${node.names.join('.')}" is a record`, node.at, hint);
  }
  let last = hops.length;
  let row: Row | undefined;
  while (last > 0 && !(row = place.rows.get(hops[last - 1]?.key ?? ''))) last--;
  const further = hops.slice(last);
  if (further.some(isToMany)) {
    const hint = 'Name one collection in an aggregate, as in sum(order_collection.total).';
    throw errorAt(
      'FILTER_TYPE',
      `The collection in "${node.names.join('.')}" can't be used here`,
      node.at,
      hint,
    );
  }
  const { joined, last: reached } = joinRows(row ?? start, further, place, node.at);
  const stored = sql`${reached.alias}.${identifier(column.sqlName)}`;
  const value = column.searchedAs ? sql`${identifier('rowpost', column.searchedAs)}(${stored})` : stored;
  const { type } = column;
  const comparedAs = isComparedAsBase(type) ? type : convertedType(type);
  if (comparedAs) {
    const written = joined.select(sql`${value}::${typeName(fullSqlType(comparedAs))}`);
    return { is: 'value', sql: written, type: comparedAs, operand: 'computed', reads: joined.reads };
  }
  const operand = column.indexed && joined.reads === 'row' ? 'indexed' : 'computed';
  const length = isLong(type) ? { copies: type.kind === 'numeric' ? 0.1 : 1, isStored: true } : {};
  return { is: 'value', sql: joined.select(value), type, operand, reads: joined.reads, ...length };
}

/** oid is comparable only with itself, and "char" has no common type with text. */
function convertedType({ sqlType, array }: ColumnType): ColumnType | undefined {
  if (array) return undefined;
  return sqlType === 'oid' ? TYPES.int8 : sqlType === '"char"' ? TYPES.text : undefined;
}

/** Rows reached through relations, as FROM items and their join conditions. */
export class JoinedRows {
  readonly #from: Sql[] = [];
  readonly #joinConditions: Sql[] = [];
  readonly #policies = new Map<Sql, Predicate>();
  readonly rows = new Map<string, Row>();

  constructor(private readonly place: Pick<Place, 'scope' | 'joins'>) {}

  /**
   * Joins one relation.
   * @throws AppError PERMISSION_DENIED if the role may not read the table
   */
  follow(from: Row, { relation, target, key }: Hop, at: Position): Row {
    let near = from.alias;
    const pairs = relation.kind === 'many-to-many' ? relation.farPairs : relation.pairs;
    if (relation.kind === 'many-to-many') {
      const through = this.place.scope.catalog.tables.get(relation.through);
      if (!through) throw new Error(`the catalog has no join table "${relation.through}"`);
      near = this.#add(through, at);
      this.#addJoinConditions(from.alias, relation.nearPairs, near);
    }
    const row = { table: target, alias: this.#add(target, at) };
    this.#addJoinConditions(near, pairs, row.alias);
    this.rows.set(key, row);
    return row;
  }

  /** Adds all rows of a table that the role may read. */
  addTable(table: Table, at: Position): Row {
    return { table, alias: this.#add(table, at) };
  }

  /** A scalar subselect of an expression over these rows; the expression itself if there are none. */
  select(expression: Sql): Sql {
    if (this.#from.length === 0) return expression;
    return sql`(select ${expression} from ${this.#fromWhere()})`;
  }

  /** Whether some combination of these rows satisfies all conditions. */
  exists(conditions: readonly Condition[]): Condition {
    const indexable = conditions.every((condition) => condition.indexable);
    const reads = widest([this, ...conditions]);
    if (this.#from.length === 0) return { sql: conjunction(conditions), indexable, reads };
    const policies = [...this.#policies.values()];
    // A related row may be checked for any number of rows: only conditions without subqueries may precede its policy.
    const open = policies.every((policy) => (policy.reads ?? 'row') === 'row');
    const tests = open ? conditions : conditions.map((condition) => ({ ...condition, indexable: false }));
    const written = sql`exists (select from ${this.#fromWhere(behindPolicies(policies, tests))})`;
    return { sql: written, indexable: indexable && open, reads };
  }

  /** What must be read to produce these rows and to check that the role may read them. */
  get reads(): ReadExtent {
    if (this.#from.length === 0) return 'row';
    const policies = [...this.#policies.values()].map(({ reads = 'row' }) => ({ reads }));
    return widest([{ reads: 'related' }, ...policies]);
  }

  /** What follows `from`. */
  #fromWhere(condition?: Sql): Sql {
    const policies = [...this.#policies.values()].map((policy) => sql`(${policy})`);
    const conditions = [...this.#joinConditions, ...policies, ...(condition ? [condition] : [])];
    const from = join(this.#from);
    return conditions.length === 0 ? from : sql`${from} where ${join(conditions, ' and ')}`;
  }

  #add(table: Table, at: Position): Sql {
    if (++this.place.joins.count > FILTER_LIMITS.relatedTables) {
      const message = `The expression brings in more than ${FILTER_LIMITS.relatedTables} related tables`;
      const hint =
        "Each path over relations brings its tables in anew: write one \"customer.country in ['SE', 'NO']\" in place of many comparisons.";
      throw errorAt('FILTER_TOO_COMPLEX', message, at, hint);
    }
    const alias = this.place.scope.aliases.next();
    this.#from.push(sql`${identifier(table.schema, table.sqlName)} ${alias}`);
    const policy = this.place.scope.access.predicate(table, alias);
    if (policy === 'none') throw errorAt('PERMISSION_DENIED', `This role may not read "${table.name}"`, at);
    if (policy !== 'all') this.#policies.set(alias, policy);
    return alias;
  }

  /** If a row's policy reads other rows, it is evaluated before any relation of the row is followed. */
  #addJoinConditions(here: Sql, pairs: readonly ColumnPair[], there: Sql): void {
    const policy = this.#policies.get(here);
    for (const pair of pairs) {
      const column = sql`${here}.${identifier(pair.here)}`;
      const value =
        policy && (policy.reads ?? 'row') !== 'row' ? sql`case when ${policy} then ${column} end` : column;
      this.#joinConditions.push(equal(sql`${there}.${identifier(pair.there)}`, value, pair.type));
    }
  }
}

/** Follows hops from a row to the last one. */
export function joinRows(
  start: Row,
  hops: readonly Hop[],
  place: Place,
  at: Position,
): { joined: JoinedRows; last: Row } {
  const joined = new JoinedRows(place);
  const last = hops.reduce((row, hop) => joined.follow(row, hop, at), start);
  return { joined, last };
}
