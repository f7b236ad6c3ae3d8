import type { Column, ColumnPair, Table } from '../../db/catalog/catalog.js';
import { equal } from '../../db/catalog/operators.js';
import { fullSqlType, isComparedAsBase } from '../../db/catalog/types.js';
import { empty, identifier, join, sql, typeName, type Sql } from '../../db/sql/sql.js';

// SQL of tables and their columns, and conditions on them, for all that reads and writes rows.

export function tableSql(table: Table): Sql {
  return identifier(table.schema, table.sqlName);
}

/** All columns that the catalog has, for a select list. */
export function allColumns(table: Table, alias: Sql): Sql {
  if (table.hidesColumns !== true) return sql`${alias}.*`;
  return join([...table.columns.values()].map((column) => columnSql(alias, column)));
}

export function columnSql(alias: Sql, column: Column): Sql {
  return sql`${alias}.${identifier(column.sqlName)}`;
}

/** The column as an operand of `=`. */
export function comparedSql(alias: Sql, column: Column): Sql {
  const value = columnSql(alias, column);
  return isComparedAsBase(column.type) ? sql`${value}::${typeName(fullSqlType(column.type))}` : value;
}

/** Whether the rows have the same values in these columns. */
export function equalIn(columns: readonly Column[], one: Sql, other: Sql): Sql {
  return join(
    columns.map((column) => equal(comparedSql(one, column), comparedSql(other, column), column.type)),
    ' and ',
  );
}

/** The condition that the rows of a relation meet. */
export function matches(here: Sql, pairs: readonly ColumnPair[], there: Sql): Sql {
  return join(
    pairs.map((pair) =>
      equal(sql`${there}.${identifier(pair.there)}`, sql`${here}.${identifier(pair.here)}`, pair.type),
    ),
    ' and ',
  );
}

/** A WHERE clause with a leading space; empty without conditions. */
export function where(conditions: readonly (Sql | 'all' | undefined)[]): Sql {
  const given = conditions.filter(
    (condition): condition is Sql => condition !== undefined && condition !== 'all',
  );
  return given.length === 0 ? empty : sql` where ${join(given, ' and ')}`;
}
