import type { Column, Table } from '../../db/catalog/catalog.js';

/** Views and tables without a primary key are read-only, and those with columns that events could not contain. */
export function isWritable(table: Table): boolean {
  const { kind, primaryKey, hidesColumns } = table;
  return (
    kind === 'table' && primaryKey.length > 0 && hidesColumns !== true && writableColumns(table).length > 0
  );
}

/** All columns except those that PostgreSQL always computes. */
export function writableColumns(table: Table): readonly Column[] {
  return [...table.columns.values()].filter((column) => !column.generated);
}
