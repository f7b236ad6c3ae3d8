import type { ControlDb } from '../../db/pool/database.js';
import { TOKENS_VALID_FROM_MS } from '../../db/roles/principal.js';
import { isOfConstraint } from '../../db/sql/sqlState.js';
import { badInput } from '../derive/badInput.js';
import { mapUniqueViolation } from '../derive/mapUniqueViolation.js';

/** What permission checks need to know about a role. */
export interface RoleState {
  readonly roleid: number;
  readonly login: string | null;
  readonly deleted: boolean;
}

export interface NewRole {
  readonly tenantid: number;
  readonly login: string | null;
  readonly name: string | null;
  readonly passwordHash: string | null;
  readonly parentid: number | null;
  readonly classes: readonly number[];
  readonly capabilities: readonly string[];
  readonly read_replica?: boolean;
  readonly creatorid: number | null;
}

export interface RoleChanges {
  readonly login?: string | null;
  readonly name?: string | null;
  readonly parentid?: number | null;
  readonly classes?: readonly number[];
  readonly capabilities?: readonly string[];
  readonly deleted?: boolean;
  readonly read_replica?: boolean;
}

/** What a sign-in needs to know about a login. */
export interface Login {
  readonly roleid: number;
  readonly password_hash: string | null;
  readonly tokens_valid_from_ms: number;
}

/** Throws AppError NAME_TAKEN if another role of the tenant has the login, or one like it, BAD_USER_INPUT. @returns roleid */
export async function insertRole(db: ControlDb, role: NewRole): Promise<number> {
  const { passwordHash, ...values } = role;
  const columns = {
    ...values,
    password_hash: passwordHash,
    password_createtime: passwordHash === null ? null : db.fn.now(),
    password_setby: passwordHash === null ? null : role.creatorid,
  };
  const insert = db('rowpost.role').insert(columns).returning<{ roleid: number }[]>('roleid');
  const [row] = await mapDepthViolation(mapUniqueViolation(insert, ...loginTaken(role.login)));
  if (!row) throw new Error('the role was not inserted');
  return row.roleid;
}

/** Throws AppError NAME_TAKEN if another role of the tenant has the login, or one like it, BAD_USER_INPUT. */
export async function updateRole(
  db: ControlDb,
  tenantid: number,
  { roleid, login }: RoleState,
  changes: RoleChanges,
): Promise<void> {
  if (Object.keys(changes).length === 0) return;
  await mapDepthViolation(
    mapUniqueViolation(
      db('rowpost.role').where({ tenantid, roleid }).update(changes),
      // Restoring a role takes its login as well.
      ...loginTaken(changes.login ?? login),
    ),
  );
}

async function mapDepthViolation<T>(write: Promise<T>): Promise<T> {
  try {
    return await write;
  } catch (error) {
    if (isOfConstraint(error, 'role_tree'))
      throw badInput('parentid', 'A role has at most 100 roles above it.');
    throw error;
  }
}

/**
 * Ends the role's sessions, and deletes the identities that it mapped itself.
 * @param setby the role that sets it
 */
export async function setPassword(
  db: ControlDb,
  tenantid: number,
  roleid: number,
  passwordHash: string,
  setby: number,
): Promise<void> {
  await db('rowpost.role').where({ tenantid, roleid }).update({
    password_hash: passwordHash,
    password_createtime: db.fn.now(),
    password_setby: setby,
  });
}

/** Tokens and other credentials of these roles are dead within a second, on every process. */
export async function endSessions(db: ControlDb, roleids: readonly number[]): Promise<void> {
  await db.raw('select rowpost.end_sessions(?)', [[...roleids]]);
}

/** Includes deleted roles. @returns undefined if the tenant has no such role */
export async function readRole(
  db: ControlDb,
  tenantid: number,
  roleid: number,
): Promise<RoleState | undefined> {
  return await db('rowpost.role')
    .where({ tenantid, roleid })
    .first<RoleState | undefined>('roleid', 'login', 'deleted');
}

/** Whether `roleid` is below `ancestor` in the tree, at any depth. */
export async function isBelow(db: ControlDb, roleid: number, ancestor: number): Promise<boolean> {
  const { rows } = await db.raw<{ rows: unknown[] }>(
    `with recursive above(roleid) as (
       select parentid from rowpost.role where roleid = ?
       union select r.parentid from rowpost.role r join above a on r.roleid = a.roleid
     ) select 1 from above where roleid = ?`,
    [roleid, ancestor],
  );
  return rows.length > 0;
}

/** @returns undefined if no undeleted role of the tenant has the login */
export async function findLogin(db: ControlDb, tenantid: number, login: string): Promise<Login | undefined> {
  return await db('rowpost.role as r')
    .where({ tenantid, login, deleted: false })
    .first<Login | undefined>(
      'roleid',
      'password_hash',
      db.raw(`${TOKENS_VALID_FROM_MS} as tokens_valid_from_ms`),
    );
}

function loginTaken(login: string | null): [string, { field: string }] {
  return [`Another role of the tenant has the login "${login ?? ''}", or one like it.`, { field: 'login' }];
}
