import type { StatementRunner } from '../sql/statementRunner.js';

export interface FileTable {
  /** SQL names. */
  readonly table: string;
  readonly column: string;
}

/** Turns a table into a file table, or changes its file column. */
export async function setFileTable(
  db: StatementRunner,
  tenantid: number,
  creatorid: number,
  { table, column }: FileTable,
): Promise<void> {
  await db.query(
    `insert into rowpost.file_table (tenantid, table_name, column_name, creatorid) values ($1, $2, $3, $4)
     on conflict (tenantid, table_name) do update set column_name = excluded.column_name`,
    [tenantid, table, column, creatorid],
  );
}
