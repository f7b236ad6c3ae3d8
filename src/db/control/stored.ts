import type { Knex } from 'knex';

/**
 * Reads rows as the API shows them: the same JSON that PostgreSQL builds for lists, so that an object looks the same
 * after a mutation and in a query (timestamps as ISO 8601 text).
 * @param columns, table, condition, order SQL from our own source; values go through `bindings`.
 */
export async function readAsJson<T>(
  knex: Knex,
  select: {
    readonly columns: string;
    readonly table: string;
    readonly where: string;
    readonly order: string;
  },
  bindings: readonly (string | number)[],
): Promise<readonly T[]> {
  const { rows } = await knex.raw<{ rows: { row: T }[] }>(
    `select to_json(t) as row from (
       select ${select.columns} from rowpost.${select.table} where ${select.where} order by ${select.order}) t`,
    [...bindings],
  );
  return rows.map(({ row }) => row);
}

/** The way to the control tables: outside a transaction, or the transaction of a request's mutations. */
export type ControlDb = Knex;
