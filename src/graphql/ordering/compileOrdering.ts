import { empty, identifier, join, sql, type Sql } from '../../db/sql/sql.js';
import type { Place } from '../filter/environment.js';
import { errorAt } from '../filter/syntax/errors.js';
import { compileColumn, isToMany, resolvePath } from '../filter/rows/paths.js';
import type { PathScope, Row } from '../filter/rows/scope.js';
import { describe, elementOf, orderable } from '../filter/types.js';
import { orderingErrors, type OrderingTerm, type ParsedOrdering } from './parseOrdering.js';

/** The scope of an ordering: rows of `table` under `alias`. */
export interface OrderingScope extends PathScope, Row {}

/**
 * Compiles to an ORDER BY clause with a leading space. The primary key is appended unless it is among the terms, so that
 * pages are stable. Columns behind a relation whose row is absent or hidden sort as null. Empty without terms and without
 * a primary key.
 *
 * @throws AppError ORDERING_INVALID, PERMISSION_DENIED
 */
export function compileOrdering(parsed: ParsedOrdering | undefined, scope: OrderingScope): Sql {
  const { table, alias } = scope;
  const place = placeOf(scope);
  const parsedTerms = parsed?.terms ?? [];
  const terms = parsedTerms.map((term) => orderingErrors(() => compileTerm(term, place)));
  const named = new Set(parsedTerms.map(({ path }) => path.names.join('.')));
  const key = table.primaryKey
    .filter((column) => !named.has(column.name))
    .map((column) => sql`${alias}.${identifier(column.sqlName)}`);
  const all = [...terms, ...key];
  return all.length === 0 ? empty : sql` order by ${join(all)}`;
}

/** What the terms order by, as in ORDER BY, for DISTINCT ON. Throws AppError ORDERING_INVALID. */
export function orderedValues(terms: readonly OrderingTerm[], scope: OrderingScope): readonly Sql[] {
  const place = placeOf(scope);
  return terms.map(({ path }) => orderingErrors(() => compileValue(path, place)));
}

function placeOf(scope: OrderingScope): Place {
  const { table, alias } = scope;
  return { scope, joins: { count: 0 }, root: 'row', rows: new Map([['', { table, alias }]]) };
}

function compileTerm({ path, descending, nulls }: OrderingTerm, place: Place): Sql {
  const value = compileValue(path, place);
  const direction = descending ? sql` desc` : sql``;
  if (nulls === undefined) return sql`${value}${direction}`;
  return nulls === 'first' ? sql`${value}${direction} nulls first` : sql`${value}${direction} nulls last`;
}

function compileValue(path: OrderingTerm['path'], place: Place): Sql {
  const resolved = resolvePath(path, place);
  const name = path.names.join('.');
  if (resolved.hops.some(isToMany)) {
    throw errorAt(
      'ORDERING_INVALID',
      `"${name}" goes through a collection, so it has no single value`,
      path.at,
    );
  }
  const { sql: value, type } = compileColumn(resolved, path, place);
  if (!orderable(elementOf(type))) {
    throw errorAt('ORDERING_INVALID', `"${name}" is ${describe(type)}, which has no order`, path.at);
  }
  return value;
}
