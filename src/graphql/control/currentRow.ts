import type { Column, Table } from '../../db/catalog/catalog.js';
import { fullSqlType } from '../../db/catalog/types.js';
import { preparedText } from '../../db/preparedStatements.js';
import { bind, constant, join, sql, toStatement } from '../../db/sql.js';
import { tenantRole } from '../../db/tenantTransaction.js';
import { AppError } from '../../errors.js';
import { columnSql, tableSql } from '../read/rowsSql.js';
import type { ControlContext } from './controlContext.js';
import { badInput } from './controlObject.js';

/**
 * A row of a tenant's table as it is now, as the JSON text that an event of it would hold.
 * @param key an object by column name, or the value of a key of one column
 * Throws AppError UNKNOWN_TABLE, BAD_USER_INPUT, NOT_FOUND.
 */
export async function readCurrentRow(
  { principal, deps }: ControlContext,
  schema: string,
  target: string,
  key: unknown,
): Promise<string> {
  const { tenantid } = principal;
  const table = (await deps.engine.catalog(tenantid, schema)).tables.get(target);
  if (!table) {
    throw new AppError('UNKNOWN_TABLE', `There is no table "${target}".`, { details: { field: 'target' } });
  }
  const { text, slots } = toStatement(
    sql`select row_to_json(t)::text from ${tableSql(table)} t where ${keyCondition(table, key)}`,
  );
  const values = bind({ text, slots }, { variables: {}, literals: [], principal: {} });
  const outcome = await deps.database.transactions.run({
    role: tenantRole(tenantid),
    mode: 'read',
    statements: [{ statement: preparedText(text), values }],
  });
  if (outcome.kind === 'failed') throw outcome.error;
  const row = outcome.results[0]?.[0]?.[0];
  if (row == null) throw new AppError('NOT_FOUND', `${target} has no row with this key.`);
  return row;
}

function keyCondition(table: Table, key: unknown) {
  if (table.primaryKey.length === 0) throw badInput('target', `${table.name} has no primary key.`);
  const conditions = table.primaryKey.map((column) => {
    const value = keyValue(table, column, key);
    return sql`${columnSql(sql`t`, column)} = ${constant(value, fullSqlType(column.type))}`;
  });
  return join(conditions, ' and ');
}

function keyValue({ primaryKey }: Table, { name, sqlName }: Column, key: unknown): string {
  const given: unknown =
    typeof key === 'object' && key !== null
      ? ((key as Readonly<Record<string, unknown>>)[name] ??
        (key as Readonly<Record<string, unknown>>)[sqlName])
      : primaryKey.length === 1
        ? key
        : undefined;
  if (typeof given === 'string' || typeof given === 'number' || typeof given === 'boolean')
    return String(given);
  throw badInput('key', `key must give ${name}.`);
}
