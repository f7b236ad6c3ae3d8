import type { Catalog, Table } from '../../db/catalog/catalog.js';
import { equalities, identifier, sql, value } from '../../db/sql/sql.js';
import { runSql, type StatementRunner } from '../../db/sql/statementRunner.js';
import { AppError } from '../../foundation/errors.js';
import { unknownTable } from '../../graphql/unknownTable.js';
import type { ControlContext } from '../controlContext.js';
import { badInput } from './badInput.js';

/** @returns the tables of the given names. Throws AppError UNKNOWN_TABLE, BAD_USER_INPUT for an empty list. */
export function requireKnownTables(catalog: Catalog, targets: readonly string[]): readonly Table[] {
  if (targets.length === 0) throw badInput('targets', 'targets must name a table.');
  return targets.map((target) => {
    const table = catalog.tables.get(target);
    if (!table) {
      throw unknownTable(catalog, target, { field: 'targets', target });
    }
    return table;
  });
}

/** Throws AppError UNKNOWN_ROLE for an id that is not an undeleted role of the tenant. */
export async function requireKnownRoles(
  { db, principal: { tenantid } }: ControlContext,
  given: number | readonly number[],
  field: string,
): Promise<void> {
  const unknown = await findUnknown(db, 'role', 'roleid', given, { tenantid, deleted: false });
  if (unknown === undefined) return;
  throw new AppError('UNKNOWN_ROLE', `The tenant has no role ${unknown}.`, {
    details: { field, roleid: unknown },
  });
}

/** Throws AppError BAD_USER_INPUT. */
export async function requireKnownClasses(
  { db, principal: { tenantid } }: ControlContext,
  classids: readonly number[],
): Promise<void> {
  const unknown = await findUnknown(db, 'role_class', 'classid', classids, { tenantid });
  if (unknown !== undefined) throw badInput('classes', `The tenant has no class ${unknown}.`);
}

/** Throws AppError UNKNOWN_CAPABILITY. */
export async function requireKnownCapabilities(
  { db }: ControlContext,
  capabilities: readonly string[],
): Promise<void> {
  const capability = await findUnknown(db, 'capability', 'capability', capabilities);
  if (capability === undefined) return;
  throw new AppError('UNKNOWN_CAPABILITY', `There is no capability "${capability}".`, {
    details: { capability },
  });
}

/** Throws AppError BAD_USER_INPUT. */
export async function requireKnownTenant({ db }: ControlContext, tenantid: number): Promise<void> {
  if ((await findUnknown(db, 'tenant', 'tenantid', tenantid)) === undefined) return;
  throw badInput('tenantid', `There is no tenant ${tenantid}.`);
}

/** Throws AppError OIDC_PROVIDER_NOT_FOUND for a provider that is neither for all tenants nor for this one. */
export async function requireUsableProvider(
  { db, principal }: ControlContext,
  providerid: number,
): Promise<void> {
  // Its tenant is changed by the installation's root, whose changes don't wait for this tenant's.
  await db.query('select from rowpost.oidc_providers where providerid = $1 for share', [providerid]);
  if (await isUsableProvider(db, principal.tenantid, providerid)) return;
  throw new AppError('OIDC_PROVIDER_NOT_FOUND', `There is no provider ${providerid}.`, {
    details: { field: 'providerid', providerid },
  });
}

/** Whether this is the id of a provider that the tenant may use. */
export async function isUsableProvider(
  db: StatementRunner,
  tenantid: number,
  providerid: number,
): Promise<boolean> {
  const { rows } = await db.query(
    'select from rowpost.oidc_providers where providerid = $1 and (tenantid is null or tenantid = $2)',
    [providerid, tenantid],
  );
  return rows.length > 0;
}

/** Throws AppError EMAIL_TYPE_NOT_FOUND. */
export async function requireKnownEmailType(
  { db, principal: { tenantid } }: ControlContext,
  emailType: string,
): Promise<void> {
  const unknown = await findUnknown(db, 'email_types', 'email_type', emailType, { tenantid });
  if (unknown !== undefined) throw emailTypeNotFound(unknown);
}

export function emailTypeNotFound(emailType: string): AppError {
  return new AppError('EMAIL_TYPE_NOT_FOUND', `There is no email type "${emailType}".`, {
    details: { field: 'email_type', email_type: emailType },
  });
}

/** The first of the given values for which there is no such row. */
async function findUnknown<T extends string | number>(
  db: StatementRunner,
  table: string,
  column: string,
  given: T | readonly T[],
  where: Readonly<Record<string, number | boolean>> = {},
): Promise<T | undefined> {
  const wanted = typeof given === 'object' ? given : [given];
  if (wanted.length === 0) return undefined;
  const name = identifier(column);
  const rows = await runSql<{ known: T }>(
    db,
    // One parameter for all: a statement has at most 65,535.
    sql`select ${name} as known from ${identifier('rowpost', table)}
      where ${name} = any (${value(wanted)}) and ${Object.keys(where).length === 0 ? sql`true` : equalities(where)}`,
  );
  const known = new Set(rows.map((row) => row.known));
  return wanted.find((each) => !known.has(each));
}
