import { insertReset, makeInvitation } from '../../db/roles/invitations.js';
import { readPrincipal } from '../../db/roles/principal.js';
import { countSignIns } from '../../db/roles/signIn/signInCounts.js';
import type { Database } from '../../db/pool/database.js';
import { isStorable } from '../../db/sql/isStorable.js';
import type { StatementRunner } from '../../db/sql/statementRunner.js';
import { parseOneAddress, type Address } from '../../email/addresses.js';
import { createHash } from 'node:crypto';
import { holds } from '../permissions.js';
import { RESET_PATH } from './acceptInvitation.js';

const WINDOW_SECONDS = 3_600;
/** Links for a role in an hour. They all work, so that whoever asks for many keeps nobody from using theirs. */
const MAX_OF_ROLE = 3;
/** Emails of a tenant in an hour: its carrier counts them as its own. */
const MAX_OF_TENANT = 100;

/** A role whose password its owner may choose anew by a link in an email. */
export interface ResettableRole {
  readonly tenantid: number;
  readonly roleid: number;
  /** Its login, which is an address that an administrator has given it. */
  readonly to: Address;
}

/**
 * Whose password a link may change: a role that signs in with one, by an email address that the tenant's administrators
 * have given it. One that somebody has typed for themselves may be anybody's. Not the root role: administrators choose the
 * carrier, and would read the link to more than they may do.
 */
export async function findResettable(
  { pool }: Pick<Database, 'pool'>,
  tenantid: number,
  login: string,
): Promise<ResettableRole | undefined> {
  if (!isStorable(login)) return undefined;
  const { rows } = await pool.query<{ roleid: number }>(
    `select r.roleid from rowpost.role r join rowpost.tenant t using (tenantid)
     where r.tenantid = $1 and r.login = $2 and not r.deleted and not t.suspended and r.password_hash is not null
       and r.admin_login = r.login and t.root_roleid is distinct from r.roleid`,
    [tenantid, login],
  );
  const [role] = rows;
  const to = parseOneAddress(login);
  if (!role || to?.email !== login) return undefined;
  const principal = await readPrincipal(pool, tenantid, role.roleid);
  return principal && holds(principal, 'login') ? { tenantid, roleid: role.roleid, to } : undefined;
}

/** @returns the link; undefined if too many were made within an hour */
export async function makeResetLink(
  { pool }: Pick<Database, 'pool'>,
  { tenantid, roleid }: ResettableRole,
  baseUrl: string,
): Promise<string | undefined> {
  if (!(await isWithin(pool, MAX_OF_ROLE, ['reset of role', tenantid, roleid]))) return undefined;
  if (!(await isWithin(pool, MAX_OF_TENANT, ['resets of tenant', tenantid]))) return undefined;
  const secret = makeInvitation(tenantid);
  await insertReset(pool, { tenantid, roleid, secret });
  return `${baseUrl}${RESET_PATH}${secret}`;
}

async function isWithin(pool: Database['pool'], most: number, parts: readonly unknown[]): Promise<boolean> {
  const key = createHash('sha256').update(JSON.stringify(parts)).digest();
  const [count] = await countSignIns(pool, [{ key, windowSeconds: WINDOW_SECONDS }]);
  return count !== undefined && count.count <= most;
}

/** How the tenant is called in an email, in one line. */
export async function readShownName(db: StatementRunner, tenantid: number): Promise<string> {
  const { rows } = await db.query<{ name: string }>(
    `select coalesce(b.name, t.name) as name
     from rowpost.tenant t left join rowpost.sign_in_brand b using (tenantid) where t.tenantid = $1`,
    [tenantid],
  );
  return (rows[0]?.name ?? '').replace(/\p{C}+/gu, ' ').trim();
}
