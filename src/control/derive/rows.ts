import { empty, identifier, join, sql, value, type Sql } from '../../db/sql/sql.js';
import { runSql, type StatementRunner } from '../../db/sql/statementRunner.js';
import { parseJson } from '../../foundation/json/losslessJson.js';
import { ownValue } from '../../foundation/ownValue.js';
import type { ControlContext } from '../controlContext.js';
import { notFound } from './badInput.js';
import type { Columns, Declared, Key, RowOf } from './declaration.js';

/** Values by column: null for a column that must be null, a list for any of several values. */
type Equalities = Readonly<Record<string, Equality>>;
type Equality = string | number | null | readonly number[];

/**
 * Reads rows as the API shows them, in key order: the same JSON that PostgreSQL builds for lists, so that an object looks
 * the same after a mutation and in a query.
 * @param and a further condition on the row `r`
 */
export async function readRows<C extends Columns>(
  db: StatementRunner,
  { table, view = table, columns, key }: Declared<C>,
  where: Equalities,
  and: readonly Sql[] = [],
): Promise<readonly RowOf<C>[]> {
  const read = Object.keys(columns).filter(
    (name) => !ownValue(columns, name)?.inputOnly && !ownValue(columns, name)?.secret,
  );
  const conditions = [...Object.entries(where).map(([name, given]) => isEqual(name, given)), ...and];
  const rows = await runSql<{ row: string }>(
    db,
    sql`select to_json(t)::text as row from (
    select ${join(read.map(columnSql))} from ${identifier('rowpost', view)} r
    ${conditions.length === 0 ? empty : sql`where ${join(conditions, ' and ')}`}
    order by ${join(key.map(columnSql))}) t`,
  );
  // As text: the driver's own parser would round numbers.
  return rows.map(({ row }) => parseJson(row) as RowOf<C>);
}

/** Reads the row with this key, as `readRows` does. @returns undefined if there is none */
export async function readRow<C extends Columns>(
  db: StatementRunner,
  object: Declared<C>,
  key: Equalities,
): Promise<RowOf<C> | undefined> {
  const [row] = await readRows(db, object, key);
  return row;
}

/** The row of the principal's tenant that a mutation refers to. Throws AppError NOT_FOUND. */
export async function findRow<C extends Columns>(
  context: ControlContext,
  object: Declared<C>,
  key: Key,
): Promise<RowOf<C>> {
  const row = await readKeyRow(context, object, key);
  if (!row) throw notFound(object.label, Object.values(key).join(object.keySeparator));
  return row;
}

/** The same; undefined if there is none. */
export function readKeyRow<C extends Columns>(
  { db, principal }: ControlContext,
  object: Declared<C>,
  key: Key,
): Promise<RowOf<C> | undefined> {
  return readRow(db, object, {
    ...key,
    ...(object.ofTenant === false ? {} : { tenantid: principal.tenantid }),
    ...(object.removed === undefined ? {} : { [object.removed]: null }),
  });
}

const columnSql = (name: string): Sql => identifier('r', name);

function isEqual(name: string, given: Equality): Sql {
  if (given === null) return sql`${columnSql(name)} is null`;
  return typeof given === 'object'
    ? sql`${columnSql(name)} = any (${value(given)})`
    : sql`${columnSql(name)} = ${value(given)}`;
}
