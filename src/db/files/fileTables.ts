import type { Knex } from 'knex';

export interface FileTable {
  /** SQL names. */
  readonly table: string;
  readonly column: string;
}

/** Turns a table into a file table, or changes its file column. */
export async function setFileTable(
  knex: Knex,
  tenantid: number,
  creatorid: number,
  { table, column }: FileTable,
): Promise<void> {
  await knex('rowpost.file_table')
    .insert({ tenantid, table_name: table, column_name: column, creatorid })
    .onConflict(['tenantid', 'table_name'])
    .merge(['column_name']);
}
