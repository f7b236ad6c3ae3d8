import { randomUUID } from 'node:crypto';
import { assignments, equalities, identifier, insertInto, join, sql, type Sql } from '../../db/sql/sql.js';
import { runSql, type StatementRunner } from '../../db/sql/statementRunner.js';
import { isForeignKeyViolation } from '../../db/sql/sqlState.js';
import { ownValue } from '../../foundation/ownValue.js';
import type { KeyRing } from '../../config/secrets.js';
import type { ControlContext } from '../controlContext.js';
import type { Columns, ControlObject, Key, RowOf } from './declaration.js';
import { mapUniqueViolation, nameTaken } from './mapUniqueViolation.js';

/** Values of columns, secrets in the clear. */
type Values = Readonly<Record<string, unknown>>;

/** Throws AppError NAME_TAKEN, or the error of `referenceLost`. @returns the new row's key. */
export async function insertRow(
  { db, principal, deps }: ControlContext,
  object: ControlObject,
  values: Values,
): Promise<Key> {
  const { table, key, columns } = object;
  // The id is part of a secret's authenticated context, so it is drawn first.
  const drawn = Object.values(columns).some(({ secret }) => secret) ? await drawKey(db, object) : {};
  const row = {
    ...(object.ofTenant === false ? {} : { tenantid: principal.tenantid }),
    creatorid: principal.roleid,
    ...drawn,
    ...storedValues(object, drawn, values, deps.keyRing),
  };
  const returned = key.map((name) => identifier(name));
  const insert = runSql<Key>(db, sql`${insertInto(table, row)} returning ${join(returned)}`);
  const [inserted] = await mapWriteViolations(object, values, insert);
  if (!inserted) throw new Error(`the row of ${table} was not inserted`);
  return inserted;
}

/** Throws AppError NAME_TAKEN, or the error of `referenceLost` or, if the key changes, `inUse`. */
export async function updateRow(
  context: ControlContext,
  object: ControlObject,
  { key, before, changes }: { readonly key: Key; readonly before: RowOf<Columns>; readonly changes: Values },
): Promise<void> {
  const resets = Object.entries(object.columns).filter(([, { resetTo }]) => resetTo !== undefined);
  const values = {
    ...storedValues(object, key, changes, context.deps.keyRing),
    ...Object.fromEntries(resets.map(([name, { resetTo }]) => [name, resetTo])),
  };
  if (Object.keys(values).length === 0) return;
  const update = runSql(
    context.db,
    sql`update ${identifier('rowpost', object.table)} set ${assignments(values)} where ${isAtKey(context, object, key)}`,
  );
  const write = object.key.some((name) => Object.hasOwn(changes, name))
    ? mapReferencedRow(object, before, update)
    : update;
  await mapWriteViolations(object, { ...before, ...changes }, write);
}

/** Deletes the row, or marks it as deleted if it has a column for that. Throws the error of `inUse`. */
export async function deleteRow(
  context: ControlContext,
  object: ControlObject,
  key: Key,
  before: RowOf<Columns>,
): Promise<void> {
  const { removed } = object;
  const table = identifier('rowpost', object.table);
  const where = isAtKey(context, object, key);
  const write =
    removed === undefined
      ? sql`delete from ${table} where ${where}`
      : sql`update ${table} set ${identifier(removed)} = now() where ${where} and ${identifier(removed)} is null`;
  await mapReferencedRow(object, before, runSql(context.db, write));
}

function isAtKey({ principal }: ControlContext, { ofTenant }: ControlObject, key: Key): Sql {
  return equalities(ofTenant === false ? key : { ...key, tenantid: principal.tenantid });
}

async function drawKey(db: StatementRunner, { table, key: [name = ''] }: ControlObject): Promise<Key> {
  const { rows } = await db.query<{ number: number }>(
    'select nextval(pg_get_serial_sequence($1, $2))::int as number',
    [`rowpost.${table}`, name],
  );
  const [row] = rows;
  if (!row) throw new Error(`no number for a row of ${table}`);
  return { [name]: row.number };
}

function storedValues(object: ControlObject, key: Key, values: Values, keyRing: KeyRing): Values {
  const entries = Object.entries(values).flatMap(([name, value]): [string, unknown][] => {
    const column = ownValue(object.columns, name);
    if (!column || column.derived || column.inputOnly) return [];
    // pg would send a JavaScript array as a PostgreSQL array, and a string unquoted.
    if (column.type === 'jsonb') return [[name, JSON.stringify(value)]];
    if (!column.secret) return [[name, value]];
    const context = secretContext(object.table, Object.values(key)[0]);
    return [
      [`${name}_encrypted`, keyRing.encrypt(String(value), context)],
      [`${name}_uuid`, randomUUID()],
    ];
  });
  return Object.fromEntries(entries);
}

/** The encryption's context: a secret copied to another row does not decrypt there. */
export function secretContext(table: string, key: string | number | undefined): string {
  return `${table}:${key}`;
}

async function mapWriteViolations<T>(object: ControlObject, row: Values, write: PromiseLike<T>): Promise<T> {
  const { label, columns, ofTenant } = object;
  const unique = Object.keys(columns).find((name) => ownValue(columns, name)?.unique);
  const among = ofTenant === false ? label : `${label} of the tenant`;
  try {
    if (unique === undefined) return await write;
    return await mapUniqueViolation(write, nameTaken(among, String(ownValue(row, unique))), {
      field: unique,
    });
  } catch (error) {
    if (isForeignKeyViolation(error) && object.referenceLost) throw object.referenceLost(row);
    throw error;
  }
}

async function mapReferencedRow<T>(
  object: ControlObject,
  before: RowOf<Columns>,
  write: PromiseLike<T>,
): Promise<T> {
  try {
    return await write;
  } catch (error) {
    if (isForeignKeyViolation(error) && object.inUse) throw object.inUse(before);
    throw error;
  }
}
