import { isAnonymous, ANONYMOUS_LOGIN } from '../../db/roles/principal.js';
import { isBelow, readRole, setPassword, updateRole, type RoleChanges, type RoleState } from './roles.js';
import { requireKnownClasses } from '../derive/references.js';
import type { ControlContext } from '../controlContext.js';
import { badInput, notFound, requireItems } from '../derive/badInput.js';
import { distinct } from '../derive/readValues.js';
import { checkPassword, grantable } from './createRole.js';
import { denied, requireCapability, requireClasses, requireOwnTenant } from '../permissions.js';
import type { Key } from '../derive/declaration.js';
import type { RoleInput } from './roleInput.js';
import { requireReauthenticated } from './reauthentication.js';
import { requireFreeLogin, requireManageable, requireParent, requireShortName } from './rolePermissions.js';
import { requireOwnLogin } from './signUp.js';

/** Fields that any role may change on itself. */
const OWN_FIELDS = ['login', 'name', 'password', 'tenantid', 'current_password'];

/** `update_role`: only what is given changes. Throws AppError NOT_FOUND, PERMISSION_DENIED, REAUTHENTICATION_REQUIRED, NAME_TAKEN and those of `createRole`. */
export async function changeRole(context: ControlContext, key: Key, input: RoleInput): Promise<void> {
  const { principal, db } = context;
  const roleid = Number(key['roleid']);
  const role = await authorize(context, roleid, input);
  if (roleid === principal.roleid) {
    if (input.password !== undefined) requireReauthenticated(context, 'password');
    if (input.login !== undefined && input.login !== role.login) requireReauthenticated(context, 'login');
  }
  const changes = await collectChanges(context, role, input);
  await updateRole(db, principal.tenantid, role, changes);
  if (input.password !== undefined) {
    if (role.login === ANONYMOUS_LOGIN) throw denied('Anonymous clients have no password.');
    const hash = await context.passwordHashes.take(
      await checkPassword(context, input.password ?? '', [input.login ?? role.login]),
    );
    await setPassword(db, principal.tenantid, roleid, hash, principal.roleid);
  }
}

/** `delete_role`: the role stays, marked as deleted. Throws AppError NOT_FOUND, PERMISSION_DENIED. */
export async function removeRole(context: ControlContext, key: Key): Promise<undefined> {
  const { principal, db } = context;
  const roleid = Number(key['roleid']);
  requireCapability(principal, 'delete_role');
  if (roleid === principal.roleid) throw denied('A role may not delete itself.');
  const role = await requireManageable(context, roleid);
  await updateRole(db, principal.tenantid, role, { deleted: true });
}

async function authorize(context: ControlContext, roleid: number, input: RoleInput): Promise<RoleState> {
  const { principal } = context;
  requireOwnTenant(context.principal, input.tenantid);
  const isOwn = roleid === principal.roleid;
  const onlyOwnFields = Object.keys(input).every((field) => OWN_FIELDS.includes(field));
  if (isOwn && onlyOwnFields) return requireSelf(context);
  if (input.deleted === true) requireCapability(principal, 'delete_role');
  requireCapability(principal, 'update_role');
  if (isOwn && input.deleted === true) throw denied('A role may not delete itself.');
  const isInherited = input.parentid !== undefined || input.classes !== undefined;
  return requireManageable(context, roleid, isInherited ? 'subtree' : 'role');
}

async function requireSelf({ principal, db }: ControlContext): Promise<RoleState> {
  if (isAnonymous(principal)) throw denied('Anonymous clients may not change the role they share.');
  const role = await readRole(db, principal.tenantid, principal.roleid);
  if (!role) throw notFound('role', principal.roleid);
  return role;
}

async function collectChanges(
  context: ControlContext,
  role: RoleState,
  input: RoleInput,
): Promise<RoleChanges> {
  const changes: { -readonly [K in keyof RoleChanges]: RoleChanges[K] } = {};
  if (input.login !== undefined) {
    requireFreeLogin(input.login);
    if (role.login === ANONYMOUS_LOGIN) throw denied('The role of anonymous clients keeps its login.');
    requireOwnLogin(context, input.login);
    changes.login = input.login;
    if (context.principal.isAdmin) changes.admin_login = input.login;
    else if (input.login !== role.login) changes.admin_login = null;
  }
  if (input.name !== undefined) {
    requireShortName(input.name);
    changes.name = input.name;
  }
  if (input.read_replica != null) changes.read_replica = input.read_replica;
  if (input.deleted != null) changes.deleted = input.deleted;
  if (input.parentid !== undefined) changes.parentid = await newParent(context, role, input.parentid);
  if (input.capabilities !== undefined) {
    changes.capabilities = await grantable(context, input.capabilities ?? []);
  }
  if (input.classes !== undefined) {
    changes.classes = distinct(requireItems(input.classes ?? [], 'classes'));
    requireClasses(context.principal, changes.classes);
    await requireKnownClasses(context, changes.classes);
  }
  return changes;
}

async function newParent(context: ControlContext, role: RoleState, parentid: number | null): Promise<number> {
  if (parentid === null) throw badInput('parentid', 'Only the root role has no parent.');
  await requireParent(context, parentid);
  if (parentid === role.roleid || (await isBelow(context.db, parentid, role.roleid))) {
    throw badInput('parentid', "A role can't be placed below itself.");
  }
  return parentid;
}
