import type { ControlContext } from '../controlContext.js';
import { lockTenant } from '../lockTenant.js';
import { badInput, requireValue } from '../derive/badInput.js';
import type { Key } from '../derive/declaration.js';
import { requireStorablePassword } from '../roles/createRole.js';
import { requireStrongPassword } from '../roles/passwords.js';
import { requireFreeLogin } from '../roles/rolePermissions.js';
import { createHashedTenant, deleteTenant, renameTenant, suspendTenant } from './tenants.js';

interface TenantInput {
  readonly name?: string | null;
  readonly schema?: string | null;
  readonly root_login?: string | null;
  readonly root_password?: string | null;
  readonly suspended?: boolean | null;
}

/** `create_tenant`. Throws AppError BAD_USER_INPUT, PASSWORD_TOO_WEAK, NAME_TAKEN. */
export async function createTenantMutation(
  { db, passwordHashes }: ControlContext,
  { name, schema, root_login, root_password, suspended }: TenantInput,
): Promise<Key> {
  if (suspended === true)
    throw badInput('suspended', 'A tenant can only be suspended after it has been created.');
  requireFreeLogin(root_login);
  const password = requireValue(root_password, 'root_password');
  requireStorablePassword(password);
  requireStrongPassword(password, [root_login, name]);
  const { tenantid } = await createHashedTenant(db, {
    name: requireValue(name, 'name'),
    schema: schema ?? undefined,
    rootLogin: requireValue(root_login, 'root_login'),
    rootPasswordHash: await passwordHashes.take(password),
  });
  return { tenantid };
}

/** `update_tenant`. Throws AppError BAD_USER_INPUT, TENANT_NOT_FOUND, TENANT_MOVED, TENANT_MOVING, NAME_TAKEN. */
export async function updateTenantMutation(
  { db, deps, afterCommit }: ControlContext,
  { tenantid }: Key,
  { name, suspended, ...others }: TenantInput,
): Promise<void> {
  const [fixed] = Object.keys(others);
  if (fixed !== undefined) throw badInput(fixed, `${fixed} can only be set on creation.`);
  await lockTenant(db, Number(tenantid));
  if (name !== undefined) await renameTenant(db, Number(tenantid), requireValue(name, 'name'));
  if (suspended !== undefined) {
    await suspendTenant(db, Number(tenantid), requireValue(suspended, 'suspended'));
    afterCommit.push(() => deps.principals.forget(Number(tenantid)));
  }
}

/** `delete_tenant`. Throws AppError NOT_FOUND, TENANT_NOT_FOUND. @returns the tenant as it was. */
export async function deleteTenantMutation(
  { db, deps, afterCommit }: ControlContext,
  key: Key,
  find: () => Promise<object>,
): Promise<object> {
  const tenantid = Number(key['tenantid']);
  const before = await find();
  await deleteTenant(db, tenantid);
  afterCommit.push(() => {
    deps.engine.forget(tenantid);
    deps.principals.forget(tenantid);
  });
  return before;
}
