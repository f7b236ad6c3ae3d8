import type pg from 'pg';
import type { Database } from '../connection/database.js';
import { quoted } from '../sql.js';
import { readAsTenant, writeAsTenant } from './asTenant.js';
import type { MovingTenant } from './handOver.js';
import type { MovedTable } from './movedTables.js';
import { readInChunks } from './readInChunks.js';

/** Both ends of the move. */
export interface Ends {
  readonly source: Database;
  readonly target: Database;
  /** The tenant in the source. */
  readonly here: MovingTenant;
  /** The tenant in the target. */
  readonly there: MovingTenant;
}

/** Copies all rows of the tables, from one snapshot. The target's tables are empty, without constraints and triggers. */
export function copyRows(
  { source, target, here, there }: Ends,
  tables: readonly MovedTable[],
): Promise<void> {
  return readAsTenant(source, here, false, (from) =>
    writeAsTenant(target, there, async (to) => {
      for (const table of tables) await copyTable(from, to, here.schema, table);
    }),
  );
}

/** Runs within a transaction at each end. */
export async function copyTable(
  from: pg.ClientBase,
  to: pg.ClientBase,
  schema: string,
  table: MovedTable,
): Promise<void> {
  await readInChunks(from, `select concat(t) as row from ${table.from} t`, [], (rows) =>
    insertRows(to, schema, table, rows),
  );
}

/** @param rows in PostgreSQL's text form */
export async function insertRows(
  to: pg.ClientBase,
  schema: string,
  { name, columns }: MovedTable,
  rows: readonly string[],
): Promise<void> {
  const table = quoted(schema, name);
  if (rows.length === 0) return;
  await to.query(
    `insert into ${table} (${columns.map((column) => quoted(column)).join(', ')}) overriding system value
     select ${columns.map((column) => `(r.row).${quoted(column)}`).join(', ')}
     from (select line::${table} as row from unnest($1::text[]) line offset 0) r`,
    [rows],
  );
}

/** Sets the target's sequences to the values of the source's. */
export async function copySequences({ source, target, here: { schema } }: Ends): Promise<void> {
  const { rows } = await source.pool.query<{ name: string }>(
    `select relname::text as name from pg_catalog.pg_class
     where relnamespace = to_regnamespace(quote_ident($1)) and relkind = 'S'`,
    [schema],
  );
  for (const { name } of rows) {
    const sequence = quoted(schema, name);
    const { rows: values } = await source.pool.query<{ last_value: string; is_called: boolean }>(
      `select last_value::text, is_called from ${sequence}`,
    );
    await target.pool.query('select setval($1::regclass, $2::bigint, $3)', [
      sequence,
      values[0]?.last_value,
      values[0]?.is_called,
    ]);
  }
}
