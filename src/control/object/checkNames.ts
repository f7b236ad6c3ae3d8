import type { Catalog, Table } from '../../db/catalog/catalog.js';
import { findUnknownRoles } from '../roles/roles.js';
import { findUnknownClasses } from '../roles/roleClasses.js';
import { AppError } from '../../errors.js';
import { unknownTable } from '../../graphql/unknownTable.js';
import type { ControlContext } from '../controlContext.js';
import { badInput } from './controlObject.js';

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

/** Throws AppError UNKNOWN_ROLE. */
export async function requireKnownRoles(
  { db, principal }: ControlContext,
  roleids: readonly number[],
  field: string,
): Promise<void> {
  const [unknown] = await findUnknownRoles(db, principal.tenantid, roleids);
  if (unknown === undefined) return;
  throw new AppError('UNKNOWN_ROLE', `The tenant has no role ${unknown}.`, {
    details: { field, roleid: unknown },
  });
}

/** Throws AppError BAD_USER_INPUT. */
export async function requireKnownClasses(
  { db, principal }: ControlContext,
  classids: readonly number[],
): Promise<void> {
  const [unknown] = await findUnknownClasses(db, principal.tenantid, classids);
  if (unknown !== undefined) throw badInput('classes', `The tenant has no class ${unknown}.`);
}
