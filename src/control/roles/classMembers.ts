import { changeMembers } from './roleClasses.js';
import { requireKnownRoles } from '../object/checkNames.js';
import type { ControlContext } from '../controlContext.js';
import { badInput, requireItems } from '../object/controlObject.js';
import { requireManageable } from './rolePermissions.js';

/**
 * Makes the given roles the members of a class. Every role that enters or leaves must be one that the principal may
 * change. Throws AppError BAD_USER_INPUT, UNKNOWN_ROLE, NOT_FOUND, PERMISSION_DENIED.
 */
export async function setMembers(
  context: ControlContext,
  classid: number,
  before: readonly number[],
  given: readonly (string | null)[],
): Promise<void> {
  const members = [...new Set(requireItems(given, 'members').map(readRoleid))];
  const added = members.filter((roleid) => !before.includes(roleid));
  const removed = before.filter((roleid) => !members.includes(roleid));
  await requireKnownRoles(context, added, 'members');
  for (const roleid of [...added, ...removed]) await requireManageable(context, roleid, 'subtree');
  await changeMembers(context.db, context.principal.tenantid, classid, { added, removed });
}

function readRoleid(id: string): number {
  const roleid = /^\d{1,9}$/.test(id) ? Number(id) : undefined;
  if (roleid === undefined) throw badInput('members', 'members must be numbers of roles.');
  return roleid;
}
