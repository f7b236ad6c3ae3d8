import type { Column, Table } from '../../db/catalog/catalog.js';
import { jsonMember } from '../../db/catalog/types.js';
import { identifier, join, sql, textConstant, type Sql } from '../../db/sql/sql.js';

/** A row as JSON, as events record it. @param columns where to read its columns, if `row` is an expression, which has none */
export function recordJson(table: Table, row: Sql, columns?: Sql): Sql {
  const all = [...table.columns.values()];
  if (
    table.hidesColumns !== true &&
    !all.some(({ type }) => type.castsToJson === true || type.zoned === true)
  ) {
    // A column may have the alias's name, which without the asterisk would be the column.
    return columns ? sql`pg_catalog.row_to_json(${row})` : sql`pg_catalog.row_to_json(${row}.*)`;
  }
  const values = all.map((column) => sql`${value(columns ?? row, column)} as ${identifier(column.sqlName)}`);
  const record = sql`(select pg_catalog.row_to_json(r.*) from (select ${join(values)}) r)`;
  return columns ? sql`case when ${row} is distinct from null then ${record} end` : record;
}

/** The key of a row as JSON, as events record it. */
export function recordKey({ primaryKey }: Table, row: Sql): Sql {
  const pairs = primaryKey.map((column) => sql`${textConstant(column.sqlName)}, ${value(row, column)}`);
  return sql`pg_catalog.json_build_object(${join(pairs)})`;
}

function value(row: Sql, { sqlName, type }: Column): Sql {
  return jsonMember(type, sql`${row}.${identifier(sqlName)}`);
}
