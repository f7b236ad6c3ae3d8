import type { Table } from '../../db/catalog/catalog.js';
import { equal } from '../../db/catalog/operators.js';
import { fullSqlType, ownTimeJson } from '../../db/catalog/types.js';
import type { ResponseReservation } from '../../db/pool/responseBudget.js';
import type { Rows } from '../../db/pool/transactionRequest.js';
import { readLarge } from '../../db/pool/runStatement.js';
import { MAX_RECORD_BYTES, RECORD_TOO_LARGE } from '../../db/outbox/recordSize.js';
import { constant, join, sql, textConstant, wholeNumber, type Sql } from '../../db/sql/sql.js';
import { EmailProblem } from '../../email/email.js';
import { AppError } from '../../foundation/errors.js';
import { rowKey } from '../../graphql/files/rowKey.js';
import { recordJson } from '../../graphql/read/recordJson.js';
import { columnSql, comparedSql, tableSql } from '../../graphql/read/tableSql.js';
import { unknownTable } from '../../graphql/unknownTable.js';
import type { ControlContext } from '../controlContext.js';
import { badInput } from '../derive/badInput.js';
import { keyValue } from './keyValue.js';

/**
 * Reads the current row of a tenant's table as the JSON text that its events would contain. Throws AppError UNKNOWN_TABLE,
 * BAD_USER_INPUT, NOT_FOUND, and EmailProblem for a row that is too large for an email.
 * @param key an object by column name, or the value of a single-column key; by default the last row in key order
 */
export async function readCurrentRow(
  context: ControlContext,
  schema: string,
  target: string,
  key: unknown,
  reservation: ResponseReservation,
): Promise<string> {
  const table = await requireTable(context, schema, target);
  const json = sql`select ${recordJson(table, sql`t`)}::pg_catalog.text from ${tableSql(table)} t ${oneRow(table, key)}`;
  const [row] = await readRowsOf(
    context,
    sql`select case when pg_catalog.octet_length(r.j) operator(pg_catalog.<=) ${wholeNumber(MAX_RECORD_BYTES)} then r.j end
      from (${json}) r(j)`,
    reservation,
  );
  if (!row) {
    throw new AppError('NOT_FOUND', `${target} has no row${key == null ? ' yet' : ' with this key'}.`);
  }
  const [text] = row;
  if (text == null) throw new EmailProblem('failed', { code: 'EVENT_TOO_LARGE', message: RECORD_TOO_LARGE });
  return text;
}

/** The newest file of the row as the JSON text that its upload event would contain; null if it has none. */
export async function readNewestFile(
  context: ControlContext,
  schema: string,
  target: string,
  key: unknown,
  reservation: ResponseReservation,
): Promise<string | null> {
  const table = await requireTable(context, schema, target);
  if (!table.fileColumn) return null;
  const files = sql`rowpost_tenant.files_of(${textConstant(table.sqlName)}, ${rowKey(table, sql`t`)})`;
  const [newest] = await readRowsOf(
    context,
    sql`select pg_catalog.json_build_object('storagekey', f.storagekey, 'filenum', f.filenum, 'filename', f.filename, 'mimetype', f.mimetype,
        'size', f.size, 'createtime', ${ownTimeJson(sql`f.createtime`)}::pg_catalog.json)::pg_catalog.text
      from (select * from ${tableSql(table)} t ${oneRow(table, key)}) t, lateral ${files} f
      order by f.createtime desc, f.filenum desc limit 1`,
    reservation,
  );
  return newest?.[0] ?? null;
}

export async function requireTable(
  { principal, deps }: ControlContext,
  schema: string,
  target: string,
): Promise<Table> {
  const catalog = await deps.engine.catalog(principal.tenantid, schema);
  const table = catalog.tables.get(target);
  if (table) return table;
  throw unknownTable(catalog, target, { field: 'target' });
}

/** Runs a statement on a tenant's tables, whose values may have any size; they are returned as text. Throws AppError. */
export function readRowsOf(
  { principal, deps }: ControlContext,
  piece: Sql,
  reservation: ResponseReservation,
): Promise<Rows> {
  return readLarge(deps.database.transactions, principal.tenantid, piece, reservation);
}

/** The row with the key, or the last one. */
function oneRow(table: Table, key: unknown): Sql {
  if (table.primaryKey.length === 0) throw badInput('target', `${table.name} has no primary key.`);
  if (key == null) return sql`${newestFirst(table)} limit 1`;
  const conditions = table.primaryKey.map((column) => {
    const value = constant(keyValue(table, column, key), fullSqlType(column.type));
    return equal(comparedSql(sql`t`, column), value, column.type);
  });
  return sql`where ${join(conditions, ' and ')}`;
}

/** Descending by primary key, so that its index can be used. */
export function newestFirst(table: Table): Sql {
  const columns = table.primaryKey.map((column) => sql`${columnSql(sql`t`, column)} desc`);
  return sql`order by ${join(columns, ', ')}`;
}
