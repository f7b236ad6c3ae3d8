import { isAnonymous, ANONYMOUS_LOGIN } from '../../db/roles/principal.js';
import { findExcess, type Excess } from './findExcess.js';
import { isBelow, readRole, type RoleState } from './roles.js';
import { readTenant } from '../tenants/tenants.js';
import { AppError } from '../../foundation/errors.js';
import { MAX_LOGIN_LENGTH } from '../../foundation/passwordRules.js';
import type { ControlContext } from '../controlContext.js';
import { badInput, notFound } from '../derive/badInput.js';
import { denied } from '../permissions.js';

/** Who wants to act for a role. */
type Acting = Pick<ControlContext, 'principal' | 'db'>;

/**
 * Requires that the principal may change a role. It must be below the principal and have no capability, class or policy
 * rule that the principal lacks, since whoever sets its password can act as it. Throws AppError NOT_FOUND, PERMISSION_DENIED.
 * @param scope `subtree` for changes that roles below it inherit: none of them may have more than the principal either
 */
export async function requireManageable(
  context: Acting,
  roleid: number,
  scope: 'role' | 'subtree' = 'role',
): Promise<RoleState> {
  const { principal, db } = context;
  const role = await readRole(db, principal.tenantid, roleid);
  if (!role) throw notFound('role', roleid);
  if (principal.boundBy !== undefined)
    throw denied('An API key with fewer capabilities than its role may not act for other roles.');
  if (principal.isRoot) return role;
  if (isAnonymous(principal)) throw denied('Anonymous clients may not act for roles.');
  const tenant = await readTenant(db, principal.tenantid);
  if (tenant?.root_roleid === roleid) throw denied("Only the tenant's root role may change itself.");
  if (principal.isAdmin) return role;
  // Roles elsewhere in the tree are not visible, except with view_role.
  if (!(await isBelow(db, roleid, principal.roleid))) {
    throw principal.capabilities.includes('view_role')
      ? denied('The role is not below this one.')
      : notFound('role', roleid);
  }
  await requireNoExcess(context, roleid, scope);
  return role;
}

/** As `requireManageable`, for a class member affected by a change, which may be the principal itself. */
export async function requireMember(context: ControlContext, roleid: number): Promise<void> {
  const { principal } = context;
  if (roleid !== principal.roleid || isAnonymous(principal))
    await requireManageable(context, roleid, 'subtree');
  else if (!principal.isAdmin) await requireNoExcess(context, roleid, 'subtree');
}

/** A role can't act for one with more access than its own. Throws AppError PERMISSION_DENIED. */
async function requireNoExcess(
  { principal, db }: Acting,
  roleid: number,
  scope: 'role' | 'subtree',
): Promise<void> {
  const excess = await findExcess(db, principal.tenantid, roleid, {
    than: principal.roleid,
    below: scope === 'subtree',
  });
  if (!excess) return;
  throw denied(`Role ${excess.roleid} ${MORE[excess.kind](excess.what)}.`, { roleid: excess.roleid });
}

/** Doesn't disclose rules outside the caller's scope. */
const MORE: Readonly<Record<Excess['kind'], (what: string) => string>> = {
  capability: (what) => `holds "${what}", which this role does not`,
  class: (what) => `is in class ${what}, which this role is not`,
  rule: () => 'is in scope of policy rules that this role is not in scope of',
};

/** A role may be placed below oneself or a role that one may change, since it inherits classes there; admins may place it anywhere. Throws AppError UNKNOWN_ROLE, PERMISSION_DENIED. */
export async function requireParent(context: ControlContext, parentid: number): Promise<void> {
  const { principal, db } = context;
  const parent = await readRole(db, principal.tenantid, parentid);
  if (!parent || parent.deleted) {
    const details = { roleid: parentid };
    throw new AppError('UNKNOWN_ROLE', `The tenant has no role ${parentid}.`, { details });
  }
  if (principal.isAdmin || parentid === principal.roleid) return;
  if (isAnonymous(principal) || !(await isBelow(db, parentid, principal.roleid)))
    throw denied("A role can only be placed below the caller's own role.");
  await requireManageable(context, parentid);
}

/** Throws AppError BAD_USER_INPUT for a login that is reserved, empty or too long. */
export function requireFreeLogin(login: string | null | undefined): void {
  if (login != null && foldLogin(login) === foldLogin(ANONYMOUS_LOGIN))
    throw badInput('login', `The login "${login}" belongs to anonymous clients.`);
  requireStorableLogin(login);
}

/** Throws AppError BAD_USER_INPUT. */
export function requireStorableLogin(login: string | null | undefined): void {
  if (login === '') throw badInput('login', 'login must not be empty.');
  if (login != null && login.length > MAX_LOGIN_LENGTH)
    throw badInput('login', `login has at most ${MAX_LOGIN_LENGTH} characters.`);
}

/** Of a role or class: pages list a thousand. */
export const MAX_NAME_CHARACTERS = 1_000;

/** Throws AppError BAD_USER_INPUT. */
export function requireShortName(name: string | null | undefined): void {
  if (name != null && name.length > MAX_NAME_CHARACTERS)
    throw badInput('name', `name has at most ${MAX_NAME_CHARACTERS} characters.`);
}

/** Equal for logins that differ only in case or form: as the unique index `role_login_folded` compares them. */
export function foldLogin(login: string): string {
  return login.normalize('NFKC').toLowerCase();
}
