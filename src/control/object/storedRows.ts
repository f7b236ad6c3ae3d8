import type { ControlDb } from '../../db/database.js';
import { parseJson } from '../../losslessJson.js';

type Equalities = Readonly<Record<string, string | number | null | readonly number[]>>;

/**
 * Reads rows as the API shows them: the same JSON that PostgreSQL builds for lists, so that an object looks the same
 * after a mutation and in a query (timestamps as ISO 8601 text).
 * @param table, columns, order SQL from our own source; the order is that of the first column when left out
 * @param where values by column; null for one that must be null, a list for one of several
 */
export async function readRows<T>(
  knex: ControlDb,
  table: string,
  columns: string,
  where: Equalities,
  order = '1',
): Promise<readonly T[]> {
  const found = knex(`rowpost.${table}`).select(knex.raw(columns)).orderByRaw(order).as('t');
  for (const [column, value] of Object.entries(where)) {
    if (typeof value === 'object' && value !== null) void found.whereIn(column, [...value]);
    else void found.where({ [column]: value });
  }
  // As text: the driver's own parser would round numbers.
  const rows: readonly { row: string }[] = await knex.from(found).select(knex.raw('to_json(t)::text as row'));
  return rows.map(({ row }) => parseJson(row) as T);
}

/** The one row with a key, as `readRows` reads it. @returns undefined when there is none. */
export async function readRow<T>(
  knex: ControlDb,
  table: string,
  columns: string,
  key: Equalities,
): Promise<T | undefined> {
  const [row] = await readRows<T>(knex, table, columns, key);
  return row;
}

/** Inserts a row. @returns the value of the column that numbers it. Rejects with PostgreSQL's error. */
export async function insertRow<Id>(
  knex: ControlDb,
  table: string,
  values: Readonly<Record<string, unknown>>,
  idColumn: string,
): Promise<Id> {
  const rows: readonly Record<string, Id>[] = await knex(`rowpost.${table}`)
    .insert(values)
    .returning(idColumn);
  const id = rows[0]?.[idColumn];
  if (id === undefined) throw new Error(`the row of ${table} was not inserted`);
  return id;
}
