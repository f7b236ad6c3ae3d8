import type pg from 'pg';
import { statement, type Sql } from '../../sql/sql.js';

const ROWS_AT_ONCE = 500;

/**
 * Reads a query of any size, in the client's transaction.
 * @param select has one column, `row`, of text
 * @param take called with a few hundred rows at a time
 */
export async function readInChunks(
  client: pg.ClientBase,
  select: Sql,
  values: readonly unknown[],
  take: (rows: readonly string[]) => Promise<void>,
): Promise<void> {
  await client.query(statement`declare chunks no scroll cursor for ${select}`, [...values]);
  for (;;) {
    const { rows } = await client.query<{ row: string }>(statement`fetch ${ROWS_AT_ONCE} from chunks`);
    if (rows.length > 0) await take(rows.map(({ row }) => row));
    if (rows.length < ROWS_AT_ONCE) break;
  }
  await client.query(statement`close chunks`);
}
