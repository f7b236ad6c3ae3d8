import type { StatementRunner } from '../../db/sql/statementRunner.js';
import { foldLogin } from './rolePermissions.js';
import { isAnonymous } from '../../db/roles/principal.js';
import type { ControlContext } from '../controlContext.js';
import { badInput, requireItems } from '../derive/badInput.js';
import { denied, requireHolding } from '../permissions.js';
import type { RoleInput } from './roleInput.js';

/** Capabilities that anonymous clients need to sign up, but the new role does not. */
const NOT_FOR_SIGNUPS = ['create_role', 'view_role'];
const MAX_LOGIN_CHARACTERS = 320;
const MAX_NAME_CHARACTERS = 200;
/** Logins that could be mistaken for the installation's or the tenant's administrators. */
const RESERVED = ['nobody', 'pxadmin', 'root', 'admin', 'administrator'];

/** What a new role is granted. */
export interface SignUp {
  readonly capabilities: readonly string[];
  readonly classes: readonly number[];
}

/**
 * Grants for a role that an anonymous client creates. It can sign in while some class of the tenant has `allow_signup`, and
 * only gets such classes and the capabilities of anonymous clients. Throws AppError PERMISSION_DENIED, BAD_USER_INPUT.
 * @returns undefined if the caller is not anonymous
 */
export async function readSignUp(context: ControlContext, input: RoleInput): Promise<SignUp | undefined> {
  const { principal, db } = context;
  if (!isAnonymous(principal)) return undefined;
  if (Array.from(input.name ?? '').length > MAX_NAME_CHARACTERS)
    throw badInput('name', `name has at most ${MAX_NAME_CHARACTERS} characters.`);
  const allowed = await signupClasses(db, principal.tenantid);
  const open = allowed.size > 0;
  const asked = input.capabilities ?? (open && input.password != null ? ['login'] : []);
  const capabilities = [...new Set(requireItems(asked, 'capabilities'))];
  const refused = capabilities.find((name) => NOT_FOR_SIGNUPS.includes(name));
  if (refused !== undefined)
    throw denied(`Anonymous clients may not give a role the capability "${refused}".`, {
      capability: refused,
    });
  requireHolding(
    principal,
    capabilities.filter((name) => !(open && name === 'login')),
  );
  const classes = [...new Set(requireItems(input.classes ?? [], 'classes'))];
  const closed = classes.find((classid) => !allowed.has(classid));
  if (closed !== undefined)
    throw denied(`Class ${closed} is not open for sign-up.`, { field: 'classes', classid: closed });
  return { capabilities, classes };
}

/** The classes that anonymous clients may sign up into. */
async function signupClasses(db: StatementRunner, tenantid: number): Promise<ReadonlySet<number>> {
  const { rows } = await db.query<{ classid: number }>(
    'select classid from rowpost.role_class where tenantid = $1 and allow_signup',
    [tenantid],
  );
  return new Set(rows.map((row) => row.classid));
}

/** Validates a self-chosen login. Administrators are not restricted. Throws AppError BAD_USER_INPUT. */
export function requireOwnLogin({ principal }: ControlContext, login: string | null | undefined): void {
  if (login == null || principal.isAdmin) return;
  requirePlainLogin(login);
}

/** A login that nobody with the right to choose any has chosen. Throws AppError BAD_USER_INPUT. */
export function requirePlainLogin(login: string): void {
  if (login.length > MAX_LOGIN_CHARACTERS)
    throw badInput('login', `login has at most ${MAX_LOGIN_CHARACTERS} characters.`);
  if (/^\s|\s$|[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.test(login)) {
    throw badInput('login', 'login must not begin or end with spaces, nor contain invisible characters.');
  }
  if (RESERVED.includes(foldLogin(login))) throw badInput('login', `The login "${login}" is reserved.`);
}
