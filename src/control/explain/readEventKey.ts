import type { Table } from '../../db/catalog/catalog.js';
import { fullSqlType, recordOf } from '../../db/catalog/types.js';
import type { Database } from '../../db/pool/database.js';
import { runStatement } from '../../db/pool/runStatement.js';
import { constant, join, sql } from '../../db/sql/sql.js';
import { isServerError } from '../../db/sql/sqlState.js';
import { AppError } from '../../foundation/errors.js';
import { parseJson, writeJson } from '../../foundation/json/losslessJson.js';
import { recordKey } from '../../graphql/read/recordJson.js';
import { columnSql, equalIn, tableSql } from '../../graphql/read/tableSql.js';
import { keyValue } from '../email/keyValue.js';
import { badInput } from '../derive/badInput.js';

export interface RowKey {
  /** JSON text, as in the row's events. */
  readonly key: string;
  /** Whether there is currently a row with this key. */
  readonly exists: boolean;
}

/**
 * Has PostgreSQL parse the key as the row's type, as the tenant, so that it becomes the same text as in events whatever
 * form it was given in. Throws AppError BAD_USER_INPUT.
 * @param key an object by column name, or the value of a single-column key
 */
export async function readEventKey(
  database: Pick<Database, 'transactions'>,
  tenantid: number,
  table: Table,
  key: unknown,
): Promise<RowKey> {
  const given = table.primaryKey.map((column) => ({ column, value: keyValue(table, column, key) }));
  const record = Object.fromEntries(
    given.map(({ column, value }) => [
      column.sqlName,
      column.type.kind === 'json' ? json(table, value) : value,
    ]),
  );
  // If the type rounded the value, it would match another row.
  const isExact = given
    .filter(({ column }) => column.type.kind === 'numeric')
    .map(
      ({ column, value }) =>
        sql`${columnSql(sql`k`, column)} operator(pg_catalog.=) ${constant(value, fullSqlType(column.type))}`,
    );
  const statement = sql`
    select pg_catalog.json_build_object('key', ${recordKey(table, sql`k`)}::pg_catalog.text,
      'exists', exists (select from ${tableSql(table)} t where ${equalIn(table.primaryKey, sql`t`, sql`k`)}),
      'isExact', ${join([sql`true`, ...isExact], ' and ')})::pg_catalog.text
    from ${recordOf(table.primaryKey, constant(writeJson(record), 'json'), sql`k`)}`;
  const rows = await runStatement(database.transactions, tenantid, 'read', statement).catch(
    (error: unknown) => {
      throw isRefusedValue(error) ? wrongKey(table, error.message) : error;
    },
  );
  const read = JSON.parse(rows[0]?.[0] ?? '{}') as RowKey & { readonly isExact: boolean };
  if (!read.isExact) throw wrongKey(table, 'A number has more digits than the column.');
  return read;
}

function json(table: Table, text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    throw wrongKey(table, 'It is not JSON.');
  }
}

/** The input function of an extension's type may raise any error, as for a bug: PostGIS does. */
function isRefusedValue(error: unknown): error is AppError {
  if (!(error instanceof AppError)) return false;
  return error.code === 'BAD_USER_INPUT' || (error.code === 'INTERNAL_ERROR' && isServerError(error.cause));
}

function wrongKey({ name, primaryKey }: Table, reason: string): Error {
  const columns = primaryKey.map((column) => `${column.name} ${fullSqlType(column.type)}`).join(', ');
  return badInput('key', `The key of ${name} is (${columns}): ${reason}`);
}
