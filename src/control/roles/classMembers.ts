import type { Principal } from '../../db/roles/principal.js';
import { AppError } from '../../foundation/errors.js';
import type { ControlContext } from '../controlContext.js';
import { badInput } from '../derive/badInput.js';
import { requireKnownRoles } from '../derive/references.js';
import { denied, requireClasses } from '../permissions.js';
import { requireManageable, requireMember } from './rolePermissions.js';

/** Of a tenant. A role may be in all of them, and is compared with all policy rules each second. */
const MAX_CLASSES = 10_000;

/** Throws AppError BAD_USER_INPUT. */
export async function requireClassQuota({ db, principal: { tenantid } }: ControlContext): Promise<void> {
  const [found]: { classes: number }[] = await db('rowpost.role_class')
    .where({ tenantid })
    .select(db.raw('count(*)::int as classes'));
  if (found && found.classes >= MAX_CLASSES)
    throw badInput('name', `A tenant has at most ${MAX_CLASSES} classes.`);
}

/** Throws AppError BAD_USER_INPUT. */
export function readRoleids(ids: readonly string[], field: string): readonly number[] {
  if (!ids.every((id) => /^\d{1,9}$/.test(id))) throw badInput(field, `${field} must hold ids of roles.`);
  return [...new Set(ids.map(Number))];
}

/** Only administrators open a class for sign-up. Throws AppError PERMISSION_DENIED. */
export function requireSignupAdmin(principal: Principal, allowSignup: boolean | null | undefined): void {
  if (allowSignup == null || principal.isAdmin) return;
  throw denied("Only the tenant's root role and admins may allow sign-up.", { field: 'allow_signup' });
}

/**
 * Sets the members of a class. The principal must be allowed to change every role that is added or removed. Throws AppError
 * UNKNOWN_ROLE, NOT_FOUND, PERMISSION_DENIED.
 */
export async function setMembers(
  context: ControlContext,
  classid: number,
  before: readonly number[],
  members: readonly number[],
): Promise<void> {
  const { db, principal } = context;
  const [was, will] = [new Set(before), new Set(members)];
  const added = members.filter((roleid) => !was.has(roleid));
  const removed = before.filter((roleid) => !will.has(roleid));
  await requireKnownRoles(context, added, 'members');
  for (const roleid of [...added, ...removed]) await requireManageable(context, roleid, 'subtree');
  const change = (roleids: readonly number[], how: 'array_append(classes, ?)' | 'array_remove(classes, ?)') =>
    db('rowpost.role')
      .where({ tenantid: principal.tenantid })
      .whereIn('roleid', [...roleids])
      .update({ classes: db.raw(how, [classid]) });
  if (added.length > 0) await change(added, 'array_append(classes, ?)');
  if (removed.length > 0) await change(removed, 'array_remove(classes, ?)');
}

/**
 * Requires that the principal may change each holder of the class, or is that holder. This includes deleted roles, since
 * those below them still have an inherited class. Throws AppError PERMISSION_DENIED, NOT_FOUND.
 */
export async function requireHolders(context: ControlContext, classid: number): Promise<void> {
  const holders = await rolesIn(context, classid).orderBy('roleid').select<{ roleid: number }[]>('roleid');
  for (const { roleid } of holders) await requireMember(context, roleid);
}

/** Removes all roles from a class before it is deleted. Throws AppError PERMISSION_DENIED, NOT_FOUND, ROLE_CLASS_IN_USE. */
export async function emptyClass(context: ControlContext, classid: number): Promise<void> {
  const { db, principal } = context;
  requireClasses(principal, [classid]);
  await requireHolders(context, classid);
  // A rule that loses its last class would apply to every role.
  const rule: unknown = await db('rowpost.policy_rule')
    .where({ tenantid: principal.tenantid })
    .whereRaw('? = any (classes)', [classid])
    .first('ruleid');
  if (rule !== undefined) {
    throw new AppError('ROLE_CLASS_IN_USE', `Policy rules refer to the class ${classid}.`, {
      details: { classid },
    });
  }
  await rolesIn(context, classid).update({ classes: db.raw('array_remove(classes, ?)', [classid]) });
}

function rolesIn({ db, principal }: ControlContext, classid: number) {
  return db('rowpost.role').where({ tenantid: principal.tenantid }).whereRaw('? = any (classes)', [classid]);
}
