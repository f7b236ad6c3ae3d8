import type { Pool } from 'pg';
import { identifier, statement } from '../sql/sql.js';

const CHUNK_SIZE = 10_000;

/** Deletes the rows of a table of the service whose time is older, in parts. Safe to run concurrently. Throws what pg throws. */
export async function pruneOldRows(
  pool: Pool,
  { table, time, days }: { readonly table: string; readonly time: string; readonly days: number },
): Promise<void> {
  const rows = identifier('rowpost', table);
  const text = statement`delete from ${rows} where ctid = any (array(
    select ctid from ${rows} where ${identifier(time)} < now() - make_interval(days => $1)
    limit $2 for update skip locked))`;
  for (;;) {
    const { rowCount } = await pool.query(text, [days, CHUNK_SIZE]);
    if ((rowCount ?? 0) < CHUNK_SIZE) return;
  }
}
