import type { Column, Table } from '../../db/catalog/catalog.js';

/** Views and tables without a primary key are read-only. */
export function isWritable(table: Table): boolean {
  return table.kind === 'table' && table.primaryKey.length > 0 && writableColumns(table).length > 0;
}

/** All columns except those that PostgreSQL always computes. */
export function writableColumns(table: Table): readonly Column[] {
  return [...table.columns.values()].filter((column) => !column.generated);
}
