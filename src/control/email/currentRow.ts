import type { Catalog, Table } from '../../db/catalog/catalog.js';
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
import { principalInputs, type Reach } from '../../graphql/policy/policy.js';
import { columnSql, comparedSql, tableSql, where } from '../../graphql/read/tableSql.js';
import { unknownTable } from '../../graphql/unknownTable.js';
import type { ControlContext } from '../controlContext.js';
import { badInput } from '../derive/badInput.js';
import { denied } from '../permissions.js';
import { keyValue } from './keyValue.js';

/**
 * Reads the current row of a tenant's table as the JSON text that its events would contain, if the caller may read it. Throws
 * AppError UNKNOWN_TABLE, PERMISSION_DENIED, BAD_USER_INPUT, NOT_FOUND, and EmailProblem for a row that is too large for an email.
 * @param key an object by column name, or the value of a single-column key; by default the last row in key order
 */
export async function readCurrentRow(
  context: ControlContext,
  schema: string,
  target: string,
  key: unknown,
  reservation: ResponseReservation,
): Promise<string> {
  const { table, rows } = await requireReadable(context, schema, target);
  const json = sql`select ${recordJson(table, sql`t`)}::pg_catalog.text from ${tableSql(table)} t ${oneRow(table, key, rows)}`;
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

/** The newest file of the row as the JSON text that its upload event would contain; null if it has none that the caller may read. */
export async function readNewestFile(
  context: ControlContext,
  schema: string,
  target: string,
  key: unknown,
  reservation: ResponseReservation,
): Promise<string | null> {
  const { table, catalog } = await findTable(context, schema, target);
  if (!table.fileColumn) return null;
  const rows = await reach(context, catalog, table, 'download');
  if (rows === 'none') return null;
  const files = sql`rowpost_tenant.files_of(${textConstant(table.sqlName)}, ${rowKey(table, sql`t`)})`;
  const [newest] = await readRowsOf(
    context,
    sql`select pg_catalog.json_build_object('storagekey', f.storagekey, 'filenum', f.filenum, 'filename', f.filename, 'mimetype', f.mimetype,
        'size', f.size, 'createtime', ${ownTimeJson(sql`f.createtime`)}::pg_catalog.json)::pg_catalog.text
      from (select * from ${tableSql(table)} t ${oneRow(table, key, rows)}) t, lateral ${files} f
      order by f.createtime desc, f.filenum desc limit 1`,
    reservation,
  );
  return newest?.[0] ?? null;
}

/** Throws AppError UNKNOWN_TABLE, PERMISSION_DENIED. @returns the table, and which of its rows as `t` the caller may read */
export async function requireReadable(
  context: ControlContext,
  schema: string,
  target: string,
): Promise<{ readonly table: Table; readonly rows: ReadableRows }> {
  const { table, catalog } = await findTable(context, schema, target);
  const rows = await reach(context, catalog, table, 'select');
  if (rows === 'none') throw denied(`This role may not read ${table.name}.`, { table: table.name });
  return { table, rows };
}

/** A condition on a row `t`. */
export type ReadableRows = Exclude<Reach, 'none'>;

export async function findTable(
  { principal, deps }: ControlContext,
  schema: string,
  target: string,
): Promise<{ readonly table: Table; readonly catalog: Catalog }> {
  const catalog = await deps.engine.catalog(principal.tenantid, schema);
  const table = catalog.tables.get(target);
  if (table) return { table, catalog };
  throw unknownTable(catalog, target, { field: 'target' });
}

function reach(
  { principal, deps }: ControlContext,
  catalog: Catalog,
  table: Table,
  capability: 'select' | 'download',
): Promise<Reach> {
  return deps.engine.reach(principal, catalog, { capability, table, alias: sql`t` });
}

/** Runs a statement on a tenant's tables, whose values may have any size; they are returned as text. Throws AppError. */
export function readRowsOf(
  { principal, deps }: ControlContext,
  piece: Sql,
  reservation: ResponseReservation,
): Promise<Rows> {
  const inputs = { variables: {}, principal: principalInputs(principal) };
  return readLarge(deps.database.transactions, principal.tenantid, piece, reservation, inputs);
}

/** Of these rows, the one with the key, or the last one. */
function oneRow(table: Table, key: unknown, rows: ReadableRows): Sql {
  if (table.primaryKey.length === 0) throw badInput('target', `${table.name} has no primary key.`);
  if (key == null) return sql`${where([rows])} ${newestFirst(table)} limit 1`;
  const conditions = table.primaryKey.map((column) => {
    const value = constant(keyValue(table, column, key), fullSqlType(column.type));
    return equal(comparedSql(sql`t`, column), value, column.type);
  });
  return where([rows, ...conditions]);
}

/** Descending by primary key, so that its index can be used. */
export function newestFirst(table: Table): Sql {
  const columns = table.primaryKey.map((column) => sql`${columnSql(sql`t`, column)} desc`);
  return sql`order by ${join(columns)}`;
}
