import { NOBODY_LOGIN } from '../../db/control/nobody.js';
import { classesInEffect, isBelow, readRole, type RoleRow } from '../../db/control/roles.js';
import { readTenant } from '../../db/control/tenants.js';
import { AppError } from '../../errors.js';
import type { ControlContext } from './controlContext.js';
import { badInput, notFound } from './controlObject.js';
import { denied, isNobody, requireClasses, requireHolding } from './permissions.js';

/**
 * The role that is to be changed. It must be below the principal and hold nothing that the principal lacks: who sets
 * its password can act as it. Throws AppError NOT_FOUND, PERMISSION_DENIED.
 */
export async function requireManageable(context: ControlContext, roleid: number): Promise<RoleRow> {
  const { principal, db } = context;
  const role = await readRole(db, principal.tenantid, roleid);
  if (!role) throw notFound('role', roleid);
  if (principal.isRoot) return role;
  if (isNobody(principal)) throw denied('Anonymous visitors do not act for roles.');
  const tenant = await readTenant(db, principal.tenantid);
  if (tenant?.root_roleid === roleid) throw denied("The tenant's root role is changed by itself only.");
  if (principal.isAdmin) return role;
  // A role that is not below is not seen either, unless view_role shows it.
  if (!(await isBelow(db, roleid, principal.roleid))) {
    throw principal.capabilities.includes('view_role')
      ? denied('The role is not below this one.')
      : notFound('role', roleid);
  }
  requireHolding(principal, role.capabilities);
  requireClasses(principal, await classesInEffect(db, principal.tenantid, roleid));
  return role;
}

/** Where a role may be put: below oneself or a role that one may change, as a place brings classes; anywhere for admins. Throws AppError UNKNOWN_ROLE, PERMISSION_DENIED. */
export async function requireParent(context: ControlContext, parentid: number): Promise<void> {
  const { principal, db } = context;
  const parent = await readRole(db, principal.tenantid, parentid);
  if (!parent || parent.deleted) throw unknownRole(parentid);
  if (principal.isAdmin || parentid === principal.roleid) return;
  if (isNobody(principal) || !(await isBelow(db, parentid, principal.roleid)))
    throw denied('A role is put below the role that makes it.');
  await requireManageable(context, parentid);
}

/** The wall between tenants. Throws AppError PERMISSION_DENIED. */
export function requireOwnTenant(context: ControlContext, tenantid: number | null | undefined): void {
  if (tenantid == null || tenantid === context.principal.tenantid) return;
  throw denied('Roles are made and changed in the own tenant only.', { tenantid });
}

/** Throws AppError BAD_USER_INPUT for a login that the service keeps for itself. */
export function requireFreeLogin(login: string | null | undefined): void {
  if (login === NOBODY_LOGIN)
    throw badInput('login', `The login "${NOBODY_LOGIN}" belongs to anonymous visitors.`);
  if (login === '') throw badInput('login', 'login must not be empty.');
}

function unknownRole(roleid: number): AppError {
  return new AppError('UNKNOWN_ROLE', `The tenant has no role ${roleid}.`, { details: { roleid } });
}
