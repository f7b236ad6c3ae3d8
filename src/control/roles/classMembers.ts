import type { Principal } from '../../db/roles/principal.js';
import { AppError } from '../../foundation/errors.js';
import type { ControlContext } from '../controlContext.js';
import { badInput, requireItems } from '../derive/badInput.js';
import { distinct } from '../derive/readValues.js';
import { requireKnownRoles } from '../derive/references.js';
import { denied, requireClasses } from '../permissions.js';
import { requireManageable, requireMember } from './rolePermissions.js';

/** Of a tenant. A role may be in all of them, and is compared with all policy rules each second. */
const MAX_CLASSES = 10_000;

/** Throws AppError BAD_USER_INPUT. */
export async function requireClassQuota({ db, principal: { tenantid } }: ControlContext): Promise<void> {
  const { rows } = await db.query<{ classes: number }>(
    'select count(*)::int as classes from rowpost.role_class where tenantid = $1',
    [tenantid],
  );
  if (rows[0] && rows[0].classes >= MAX_CLASSES)
    throw badInput('name', `A tenant has at most ${MAX_CLASSES} classes.`);
}

/** What a class may give: nothing that is about signing in, roles or rows. The table checks it too. */
export const CLASS_CAPABILITIES: readonly string[] = ['view_delivery', 'repair_delivery', 'edit_email'];

/** Throws AppError BAD_USER_INPUT. */
export function readClassCapabilities(given: readonly (string | null)[], field: string): readonly string[] {
  const capabilities = distinct(requireItems(given, field));
  const other = capabilities.find((name) => !CLASS_CAPABILITIES.includes(name));
  if (other === undefined) return capabilities;
  throw badInput(field, `A class can't give "${other}": only ${CLASS_CAPABILITIES.join(', ')}.`);
}

/** Throws AppError BAD_USER_INPUT. */
export function readRoleids(ids: readonly string[], field: string): readonly number[] {
  if (!ids.every((id) => /^\d{1,9}$/.test(id))) throw badInput(field, `${field} must contain ids of roles.`);
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
  if (added.length > 0) await db.query(JOIN_CLASS, [principal.tenantid, classid, added]);
  if (removed.length > 0) await db.query(LEAVE_CLASS, [principal.tenantid, classid, removed]);
}

const JOIN_CLASS =
  'update rowpost.role set classes = array_append(classes, $2) where tenantid = $1 and roleid = any ($3)';
const LEAVE_CLASS =
  'update rowpost.role set classes = array_remove(classes, $2) where tenantid = $1 and roleid = any ($3)';

/**
 * Requires that the principal may change each holder of the class, or is that holder. This includes deleted roles, since
 * those below them still have an inherited class. Throws AppError PERMISSION_DENIED, NOT_FOUND.
 */
export async function requireHolders(context: ControlContext, classid: number): Promise<readonly number[]> {
  const { rows } = await context.db.query<{ roleid: number }>(
    'select roleid from rowpost.role where tenantid = $1 and $2 = any (classes) order by roleid',
    [context.principal.tenantid, classid],
  );
  const holders = rows.map(({ roleid }) => roleid);
  for (const roleid of holders) await requireMember(context, roleid);
  return holders;
}

/** Removes all roles from a class before it is deleted. Throws AppError PERMISSION_DENIED, NOT_FOUND, ROLE_CLASS_IN_USE. */
export async function emptyClass(context: ControlContext, classid: number): Promise<void> {
  const { db, principal } = context;
  requireClasses(principal, [classid]);
  const holders = await requireHolders(context, classid);
  // A rule that loses its last class would apply to every role.
  const { rows: rules } = await db.query(
    'select from rowpost.policy_rule where tenantid = $1 and $2 = any (classes) limit 1',
    [principal.tenantid, classid],
  );
  if (rules.length > 0) {
    throw new AppError('ROLE_CLASS_IN_USE', `Policy rules refer to the class ${classid}.`, {
      details: { classid },
    });
  }
  await db.query(LEAVE_CLASS, [principal.tenantid, classid, holders]);
}
