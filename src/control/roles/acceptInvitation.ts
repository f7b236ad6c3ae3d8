import { inTransaction } from '../../db/pool/inTransaction.js';
import type { Database } from '../../db/pool/database.js';
import { deleteInvitations, findInvited, type Invited } from '../../db/roles/invitations.js';
import { readPrincipal } from '../../db/roles/principal.js';
import type { StatementRunner } from '../../db/sql/statementRunner.js';
import { AppError } from '../../foundation/errors.js';
import { recordChange } from '../audit/recordChange.js';
import { lockTenant } from '../lockTenant.js';
import { holds } from '../permissions.js';
import { inLine } from '../request/passwordHashes.js';
import { requireStorablePassword } from './createRole.js';
import { hashPassword, requireStrongPassword } from './passwords.js';
import { requireManageable } from './rolePermissions.js';
import { setPassword } from './roles.js';

/** Where links to choose a password lead: an invitation, and one for a forgotten password. What is secret follows. */
export const INVITATION_PATH = '/console/sign-in/invitation/';
export const RESET_PATH = '/console/sign-in/reset/';

/**
 * Sets the password that the holder of a link has chosen, once: the role can then sign in with it. Throws AppError NOT_FOUND,
 * PASSWORD_TOO_WEAK, BAD_USER_INPUT, TENANT_MOVED.
 */
export async function acceptInvitation(
  { pool }: Pick<Database, 'pool'>,
  secret: string,
  password: string,
): Promise<Invited> {
  // Only for those who have a link is anything hashed.
  const { login, tenantid, tenantName } = await requireInvited(pool, secret);
  requireStorablePassword(password);
  requireStrongPassword(password, [login, tenantName]);
  const hash = await inLine(() => hashPassword(password));
  return inTransaction(pool, async (tx) => {
    await lockTenant(tx, tenantid);
    // Meanwhile it may have been used.
    const invited = await requireInvited(tx, secret);
    const { roleid } = invited;
    const principal = await readPrincipal(tx, tenantid, roleid);
    if (!principal) throw ended();
    const before = await readPasswordTime(tx, roleid);
    await deleteInvitations(tx, invited);
    await setPassword(tx, tenantid, roleid, hash, roleid);
    const after = await readPasswordTime(tx, roleid);
    const change = { object: 'role', operation: 'update', key: String(roleid), before, after };
    await recordChange(tx, { principal, options: { allowMutation: true } }, change);
    return invited;
  });
}

/** Throws AppError NOT_FOUND, TENANT_MOVED. */
export async function requireInvited(db: StatementRunner, secret: string): Promise<Invited> {
  const invited = await findInvited(db, secret);
  if (!invited || !(await maySetPassword(db, invited))) throw ended();
  return invited;
}

/** Whether who made the link still may: whoever uses it may be that person, and the role may have got more rights since. */
async function maySetPassword(
  db: StatementRunner,
  { tenantid, roleid, creatorid, isReset }: Invited,
): Promise<boolean> {
  if (isReset) return true;
  const principal = creatorid === null ? undefined : await readPrincipal(db, tenantid, creatorid);
  if (!principal || !holds(principal, 'update_role')) return false;
  try {
    await requireManageable({ principal, db }, roleid);
    return true;
  } catch (error) {
    if (error instanceof AppError && error.status < 500) return false;
    throw error;
  }
}

/** What the audit log says of a new password. */
async function readPasswordTime(db: StatementRunner, roleid: number): Promise<object | undefined> {
  const { rows } = await db.query(
    'select to_json(password_createtime) as password_createtime, password_setby from rowpost.role where roleid = $1',
    [roleid],
  );
  return rows[0];
}

const ended = (): AppError =>
  new AppError('NOT_FOUND', 'This link was used, or has ended.', {
    hint: 'Ask whoever invited you for a new one. If you have forgotten your password, ask for another link.',
  });
