import type { StatementRunner } from '../../db/sql/statementRunner.js';
import { insertRole } from './roles.js';
import { requireStrongPassword } from './passwords.js';
import { readTenant } from '../tenants/tenants.js';
import { requireKnownCapabilities, requireKnownClasses } from '../derive/references.js';
import type { ControlContext } from '../controlContext.js';
import type { Key } from '../derive/declaration.js';
import { badInput, requireItems } from '../derive/badInput.js';
import {
  holds,
  requireCapability,
  requireClasses,
  requireHolding,
  requireOwnTenant,
} from '../permissions.js';
import { requireFreeLogin, requireParent, requireShortName } from './rolePermissions.js';
import type { RoleInput } from './roleInput.js';
import { readSignUp, requireOwnLogin, type SignUp } from './signUp.js';

/** `create_role`. Throws AppError PERMISSION_DENIED, UNKNOWN_CAPABILITY, UNKNOWN_ROLE, NAME_TAKEN. */
export async function createRole(context: ControlContext, input: RoleInput): Promise<Key> {
  const { principal, db } = context;
  requireCapability(principal, 'create_role');
  requireOwnTenant(principal, input.tenantid);
  requireFreeLogin(input.login);
  requireShortName(input.name);
  if (input.deleted === true) throw badInput('deleted', "A role can't be created as deleted.");
  const parentid = input.parentid ?? principal.roleid;
  await requireParent(context, parentid);
  requireOwnLogin(context, input.login);
  const { capabilities, classes: given } =
    (await readSignUp(context, input)) ?? (await readGrants(context, input));
  // Inherited classes were authorized when the class was created.
  const inherited = await classesAtCreation(db, principal.tenantid, parentid);
  const classes = [...new Set([...given, ...inherited])];
  const passwordHash =
    input.password == null
      ? null
      : await context.passwordHashes.take(await checkPassword(context, input.password, [input.login]));
  const roleid = await insertRole(db, {
    tenantid: principal.tenantid,
    login: input.login ?? null,
    admin_login: principal.isAdmin ? (input.login ?? null) : null,
    name: input.name ?? null,
    passwordHash,
    parentid,
    classes,
    capabilities,
    read_replica: input.read_replica ?? false,
    creatorid: principal.roleid,
  });
  return { roleid };
}

/** The classes that a new role below `parentid` starts with. */
export async function classesAtCreation(
  db: StatementRunner,
  tenantid: number,
  parentid: number,
): Promise<readonly number[]> {
  const { rows } = await db.query<{ classid: number }>(
    `select c.classid from rowpost.role_class c join rowpost.role r using (tenantid)
     where tenantid = $1 and r.roleid = $2 and c.inherit = 'creation' and c.classid = any (r.classes) order by c.classid`,
    [tenantid, parentid],
  );
  return rows.map((row) => row.classid);
}

/** Throws AppError UNKNOWN_CAPABILITY, PERMISSION_DENIED, BAD_USER_INPUT. */
async function readGrants(context: ControlContext, input: RoleInput): Promise<SignUp> {
  const capabilities = await grantable(context, input.capabilities ?? defaultCapabilities(context, input));
  const classes = requireItems(input.classes ?? [], 'classes');
  requireClasses(context.principal, classes);
  await requireKnownClasses(context, classes);
  return { capabilities, classes };
}

/** A role with a password is presumably meant to sign in. */
function defaultCapabilities({ principal }: ControlContext, input: RoleInput): readonly string[] {
  return input.password != null && holds(principal, 'login') ? ['login'] : [];
}

/** Existing capabilities that the principal may grant. Throws AppError UNKNOWN_CAPABILITY, PERMISSION_DENIED. */
export async function grantable(
  context: ControlContext,
  given: readonly (string | null)[],
): Promise<readonly string[]> {
  const capabilities = [...new Set(requireItems(given, 'capabilities'))];
  await requireKnownCapabilities(context, capabilities);
  requireHolding(context.principal, capabilities);
  return capabilities;
}

/** @param names that it must not be similar to, besides the tenant's. Throws AppError BAD_USER_INPUT, PASSWORD_TOO_WEAK. */
export async function checkPassword(
  { db, principal }: ControlContext,
  password: string,
  names: readonly (string | null | undefined)[],
): Promise<string> {
  requireStorablePassword(password);
  const tenant = await readTenant(db, principal.tenantid);
  requireStrongPassword(password, [...names, tenant?.name]);
  return password;
}

/** Throws AppError BAD_USER_INPUT. */
export function requireStorablePassword(password: string): void {
  if (password === '') throw badInput('password', 'The password must not be empty.');
  if (password.includes('\0')) throw badInput('password', 'The password must not contain the character NUL.');
}
