import type { Table } from '../../db/catalog/catalog.js';
import { identifier, join, sql, textConstant, type Sql } from '../../db/sql/sql.js';

/** The key under which the row's files are stored. */
export function rowKey(table: Table, row: Sql): Sql {
  const pairs = table.primaryKey.map(({ sqlName, type }) => {
    const stored = sql`${row}.${identifier(sqlName)}`;
    return sql`${textConstant(sqlName)}, ${type.zoned === true ? sql`rowpost_tenant.in_utc(${stored}, 'value')` : stored}`;
  });
  return sql`pg_catalog.jsonb_build_object(${join(pairs)})`;
}
