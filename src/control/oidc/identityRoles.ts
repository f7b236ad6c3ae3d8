import { TOKENS_VALID_FROM_MS, type Principal } from '../../db/roles/principal.js';
import { insertInto } from '../../db/sql/sql.js';
import { runSql, type StatementRunner } from '../../db/sql/statementRunner.js';
import { AppError } from '../../foundation/errors.js';
import { holds } from '../permissions.js';
import { classesAtCreation } from '../roles/createRole.js';
import { findExcess } from '../roles/findExcess.js';
import { requireStorableLogin } from '../roles/rolePermissions.js';
import { endSessions, insertRole, isBelow } from '../roles/roles.js';
import { requirePlainLogin } from '../roles/signUp.js';
import { notAdmitted, notMapped } from './admission.js';
import { verifiedEmail } from './claims.js';
import { isIn } from './groupClasses.js';
import type { Admitted, Identity, Provisioning } from './identity.js';

const MAX_NAME_CHARACTERS = 200;

/** The role of the identity: of an address as the provider spells it, otherwise of the same in another case. Throws AppError OIDC_ROLE_NOT_MAPPED. */
export async function findMapped(db: StatementRunner, identity: Identity): Promise<Admitted | undefined> {
  const role = await findSpelled(db, identity, false);
  return role ?? (identity.isAddress ? findSpelled(db, identity, true) : undefined);
}

/**
 * The role that root, an admin or a sign-in has mapped the identity to. Others may map theirs to anybody's, who then would sign in as a
 * role that somebody else has the password of. Throws AppError OIDC_ROLE_NOT_MAPPED if there are several, or only deleted ones, which are
 * not made again.
 */
async function findSpelled(
  db: StatementRunner,
  { tenantid, confid, subId }: Identity,
  inAnyCase: boolean,
): Promise<Admitted | undefined> {
  const { rows: roles } = await db.query<Admitted & { readonly deleted: boolean }>(
    inAnyCase ? ROLES_OF_ADDRESS : ROLES_OF_IDENTITY,
    [tenantid, confid, subId],
  );
  const [role, ...others] = roles.filter(({ deleted }) => !deleted);
  if (others.length > 0)
    throw notMapped('Several roles are mapped to this identity: sign in as one of them.');
  if (!role && roles.length > 0) throw notMapped('The role of this identity has been deleted.');
  return role;
}

const ROLES = `select r.roleid, r.deleted, ${TOKENS_VALID_FROM_MS} as "tokensValidFromMs"
   from rowpost.role_oidc m join rowpost.role r using (tenantid, roleid) join rowpost.tenant t using (tenantid)
   where m.tenantid = $1 and m.confid = $2
     and (m.creatorid is null or exists (
       select from rowpost.role c
       where c.tenantid = m.tenantid and c.roleid = m.creatorid
         and (c.roleid = t.root_roleid or 'admin' = any (c.capabilities))))`;
/** Two statements, since each has an index of its own. */
const ROLES_OF_IDENTITY = `${ROLES} and m.sub_id = $3 order by r.deleted limit 2`;
const ROLES_OF_ADDRESS = `${ROLES} and lower(m.sub_id collate "C") = lower($3 collate "C") order by r.deleted limit 2`;

async function inItsState(db: StatementRunner, roleid: number): Promise<Admitted> {
  const { rows } = await db.query<Admitted>(
    `select r.roleid, ${TOKENS_VALID_FROM_MS} as "tokensValidFromMs" from rowpost.role r where r.roleid = $1`,
    [roleid],
  );
  const [role] = rows;
  if (!role) throw new Error('the role is gone');
  return role;
}

/** A role whose login root or an admin made the person's address, and which is mapped to no identity of the provider. */
export async function linkRole(
  db: StatementRunner,
  { link_by_email: isLinking, parentid }: Provisioning,
  identity: Identity,
  parent: Principal,
): Promise<Admitted | undefined> {
  const { tenantid, providerid, claims, emailAlwaysVerified } = identity;
  const email = verifiedEmail(claims, emailAlwaysVerified);
  if (!isLinking || email === undefined) return undefined;
  const { rows } = await db.query<{ roleid: number }>(
    `select r.roleid from rowpost.role r
     where r.tenantid = $1 and not r.deleted and lower(r.admin_login collate "C") = lower($2 collate "C")
       and r.login = r.admin_login
       and not exists (
         select from rowpost.role_oidc m join rowpost.oidc_config c using (confid)
         where m.roleid = r.roleid and c.providerid = $3)`,
    [tenantid, email, providerid],
  );
  const [role] = rows;
  if (!role || !(await isBelow(db, role.roleid, parentid))) return undefined;
  const { roleid } = role;
  if (!parent.isAdmin && (await findExcess(db, tenantid, roleid, { than: parentid, below: false })))
    return undefined;
  await insertMapping(db, identity, roleid);
  await endSessions(db, [roleid]);
  return inItsState(db, roleid);
}

/** What the templates of a provisioning make of somebody's claims. */
export interface Names {
  readonly name: string | null;
  readonly login: string | null;
}

export const NO_NAMES: Names = { name: null, login: null };

/** Throws AppError OIDC_NOT_ADMITTED. */
export async function makeRole(
  db: StatementRunner,
  { parentid, capabilities, classes, seats }: Provisioning,
  identity: Identity,
  parent: Principal,
  { name, login }: Names,
): Promise<Admitted> {
  const { tenantid, confid } = identity;
  if (seats !== null && (await countRoles(db, tenantid, confid)) >= seats)
    throw notAdmitted('All seats are taken.');
  const given = [...classes.filter(isIn(parent)), ...(await classesAtCreation(db, tenantid, parentid))];
  try {
    if (login !== null) {
      requireStorableLogin(login);
      requirePlainLogin(login);
    }
    const roleid = await insertRole(db, {
      tenantid,
      login,
      name: name === null ? null : Array.from(name).slice(0, MAX_NAME_CHARACTERS).join(''),
      passwordHash: null,
      parentid,
      classes: [...new Set(given)],
      capabilities: capabilities.filter((capability) => holds(parent, capability)),
      creatorid: null,
    });
    await insertMapping(db, identity, roleid);
    return await inItsState(db, roleid);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    throw notAdmitted(`A role for this person can't be made: ${error.message}`);
  }
}

async function insertMapping(
  db: StatementRunner,
  { tenantid, confid, subId }: Identity,
  roleid: number,
): Promise<void> {
  await runSql(db, insertInto('role_oidc', { tenantid, roleid, confid, sub_id: subId }));
}

async function countRoles(db: StatementRunner, tenantid: number, confid: number): Promise<number> {
  const { rows } = await db.query<{ roles: number }>(
    `select count(*)::int as roles from rowpost.role_oidc m join rowpost.role r using (tenantid, roleid)
     where m.tenantid = $1 and m.confid = $2 and not r.deleted`,
    [tenantid, confid],
  );
  return rows[0]?.roles ?? 0;
}
