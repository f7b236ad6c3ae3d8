import { empty, identifier, sql, typeName, type Sql } from '../sql/sql.js';
import type { ColumnType } from './catalog.js';

// PostgreSQL looks for an operator in every schema of the search_path and takes the one whose argument types match best. On a
// tenant's own connection, that could be anybody's who may create in one of them: operators are named with their schema.

export type Comparison = '=' | '<>' | '<' | '>' | '<=' | '>=';

/** The type of both sides of a comparison; absent if PostgreSQL's own operators compare them. */
export type ComparedType = Pick<ColumnType, 'sqlType' | 'array' | 'operators'> | undefined;

const OPERATORS: Readonly<Record<Comparison, Sql>> = {
  '=': sql`=`,
  '<>': sql`<>`,
  '<': sql`<`,
  '>': sql`>`,
  '<=': sql`<=`,
  '>=': sql`>=`,
};

export function compared(left: Sql, comparison: Comparison, right: Sql, type: ComparedType): Sql {
  const { operator, cast } = resolved(comparison, type);
  return sql`${left}${cast} ${operator} ${right}${cast}`;
}

export function equal(left: Sql, right: Sql, type: ComparedType): Sql {
  return compared(left, '=', right, type);
}

/** Compares with each item of a list. @param type the items' */
export function comparedWithItems(
  value: Sql,
  comparison: '= any' | '<> all',
  list: Sql,
  type: ComparedType,
): Sql {
  const isAny = comparison === '= any';
  const { operator, cast, listCast } = resolved(isAny ? '=' : '<>', type);
  return sql`${value}${cast} ${operator} ${isAny ? sql`any` : sql`all`} (${list}${listCast})`;
}

/** `nullif`, which would look `=` up as well. */
export function nullWhen(value: Sql, other: Sql): Sql {
  return sql`(pg_catalog.array_remove(array[${value}], ${other}))[1]`;
}

/** PostgreSQL's own operators also compare enums, lists and composite values of any type. */
function resolved(
  comparison: Comparison,
  type: ComparedType,
): Readonly<Record<'operator' | 'cast' | 'listCast', Sql>> {
  const name = OPERATORS[comparison];
  if (type?.operators === undefined || type.array) {
    return { operator: sql`operator(pg_catalog.${name})`, cast: empty, listCast: empty };
  }
  // Without casts, another operator in that schema, for a domain of the type, would match better.
  const own = typeName(type.sqlType);
  return {
    operator: sql`operator(${identifier(type.operators)}.${name})`,
    cast: sql`::${own}`,
    listCast: sql`::${own}[]`,
  };
}
