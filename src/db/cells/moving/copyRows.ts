import type pg from 'pg';
import type { Database } from '../../pool/database.js';
import { identifier, join, quoted, sql, statement, textConstant } from '../../sql/sql.js';
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
  await readInChunks(from, sql`select concat(t) as row from ${table.from} t`, [], (rows) =>
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
  if (rows.length === 0) return;
  const table = identifier(schema, name);
  const names = columns.map((column) => identifier(column));
  await to.query(
    statement`insert into ${table} (${join(names, ', ')}) overriding system value
     select ${join(
       names.map((column) => sql`(r.row).${column}`),
       ', ',
     )}
     from (select line::${table} as row from unnest($1::text[]) line offset 0) r`,
    [rows],
  );
}

/** Sets the target's sequences to the values of the source's. By the time they are read, a view may have such a name. */
export async function copySequences({ source, target, here, there }: Ends): Promise<void> {
  const states = await readAsTenant(source, here, true, async (from) => {
    const { rows } = await from.query<{ name: string }>(SEQUENCES, [here.schema]);
    const read: SequenceState[] = [];
    for (const { name } of rows) {
      const found = await from.query<Omit<SequenceState, 'name'>>(
        statement`select last_value::text as last, is_called as called from ${identifier(here.schema, name)}`,
      );
      read.push(...found.rows.map((state) => ({ name, ...state })));
    }
    return read;
  });
  await writeAsTenant(target, there, async (to) => {
    for (const { name, last, called } of states) {
      await to.query(
        statement`select pg_catalog.setval(${textConstant(quoted(there.schema, name))}::pg_catalog.regclass, $1::bigint, $2::boolean)`,
        [last, called],
      );
    }
  });
}

interface SequenceState {
  readonly name: string;
  readonly last: string;
  readonly called: boolean;
}

const SEQUENCES = statement`
  select c.relname::text as name from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
  where n.nspname = $1::text::name and c.relkind = 'S'`;
