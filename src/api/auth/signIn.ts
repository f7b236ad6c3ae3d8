import { findLogin } from '../../control/roles/roles.js';
import { verifyPassword } from '../../control/roles/passwords.js';
import { readAnonymousLogins } from '../../control/tenants/tenants.js';
import type { StatementRunner } from '../../db/sql/statementRunner.js';
import { AppError } from '../../foundation/errors.js';
import { ANONYMOUS_LOGIN, type Principal } from '../../db/roles/principal.js';
import type { WebDeps } from '../http/webDeps.js';
import { requireActiveTenant } from './authenticate.js';

export interface Credentials {
  readonly tenantid: number;
  readonly login: string;
  readonly password: string;
}

/**
 * Signs in by login and password. An unknown tenant, an unknown login and a wrong password are indistinguishable by
 * response or timing. Throws AppError LOGIN_FAILED, TENANT_MOVED, TENANT_SUSPENDED, PERMISSION_DENIED (the role lacks the capability `login`).
 */
export async function signIn(
  deps: Pick<WebDeps, 'database' | 'principals'>,
  credentials: Credentials,
): Promise<Principal> {
  const { tenantid, login, password } = credentials;
  await deps.principals.requireTenantInThisCell(tenantid);
  const role = await findLogin(deps.database.pool, tenantid, login);
  const correct = await verifyPassword(password, role?.password_hash ?? null);
  // Not from the cache: the new token must belong to the state of the role with this password.
  const principal = role && correct ? await deps.principals.reload(tenantid, role.roleid) : undefined;
  // Verifying takes a while. Meanwhile, the role may have got another password.
  if (!principal || principal.tokensValidFromMs !== role?.tokens_valid_from_ms) {
    throw new AppError('LOGIN_FAILED', 'Login failed.');
  }
  requireLogin(principal);
  return principal;
}

/** Signs in a role that was authenticated elsewhere. Throws AppError PERMISSION_DENIED, TENANT_SUSPENDED. @returns undefined if it no longer exists */
export async function signInAs(
  deps: WebDeps,
  tenantid: number,
  roleid: number,
): Promise<Principal | undefined> {
  const principal = await deps.principals.reload(tenantid, roleid);
  if (principal) requireLogin(principal);
  return principal;
}

/** Signs in as the tenant's Nobody role. Throws AppError ANONYMOUS_LOGINS_DISABLED, TENANT_SUSPENDED. */
export async function signInAnonymously(deps: WebDeps, tenantid: number): Promise<Principal> {
  await deps.principals.requireTenantInThisCell(tenantid);
  await requireAnonymousLogins(deps.database.pool, tenantid);
  const role = await findLogin(deps.database.pool, tenantid, ANONYMOUS_LOGIN);
  const principal = role && (await deps.principals.reload(tenantid, role.roleid));
  if (!principal) throw new Error('a tenant with anonymous logins has no Nobody role');
  requireActiveTenant(principal);
  return principal;
}

/** A refresh repeats the checks of sign-in. Throws AppError PERMISSION_DENIED, ANONYMOUS_LOGINS_DISABLED. */
export async function requireSignInAllowed(deps: WebDeps, principal: Principal): Promise<void> {
  if (principal.login === ANONYMOUS_LOGIN)
    await requireAnonymousLogins(deps.database.pool, principal.tenantid);
  else requireLogin(principal);
}

async function requireAnonymousLogins(db: StatementRunner, tenantid: number): Promise<void> {
  if (await readAnonymousLogins(db, tenantid)) return;
  throw new AppError('ANONYMOUS_LOGINS_DISABLED', 'The tenant does not allow anonymous logins.');
}

function requireLogin(principal: Principal): void {
  requireActiveTenant(principal);
  if (principal.isAdmin || principal.capabilities.includes('login')) return;
  throw new AppError('PERMISSION_DENIED', 'The role does not have the capability "login".');
}
