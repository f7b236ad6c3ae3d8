import type { ControlDb } from '../../db/database.js';
import { orNameTaken } from '../object/nameTaken.js';
import { insertRow, readRow, readRows } from '../object/storedRows.js';

/** A role as the API shows it: timestamps as ISO 8601 text, never the password's hash. */
export interface RoleRow {
  readonly roleid: number;
  readonly tenantid: number;
  readonly login: string | null;
  readonly name: string | null;
  readonly parentid: number | null;
  readonly classes: readonly number[];
  readonly capabilities: readonly string[];
  readonly deleted: boolean;
  readonly creatorid: number | null;
  readonly createtime: string;
  readonly password_createtime: string | null;
  /** The role that set it. */
  readonly password_setby: number | null;
}

export interface NewRole {
  readonly tenantid: number;
  readonly login: string | null;
  readonly name: string | null;
  readonly passwordHash: string | null;
  readonly parentid: number | null;
  readonly classes: readonly number[];
  readonly capabilities: readonly string[];
  readonly creatorid: number | null;
}

export interface RoleChanges {
  readonly login?: string | null;
  readonly name?: string | null;
  readonly parentid?: number | null;
  readonly classes?: readonly number[];
  readonly capabilities?: readonly string[];
  readonly deleted?: boolean;
  /** ISO 8601. Tokens issued before it are refused. */
  readonly tokens_valid_from?: string;
}

/** What signing in needs to know of a login. */
export interface Login {
  readonly roleid: number;
  readonly password_hash: string | null;
}

const COLUMNS = `roleid, tenantid, login, name, parentid, classes, capabilities, deleted, creatorid, createtime,
  password_createtime, password_setby`;

/** Throws AppError NAME_TAKEN when another role of the tenant has the login. @returns roleid. */
export function insertRole(knex: ControlDb, role: NewRole): Promise<number> {
  const { passwordHash, ...values } = role;
  const columns = {
    ...values,
    password_hash: passwordHash,
    password_createtime: passwordHash === null ? null : knex.fn.now(),
    password_setby: passwordHash === null ? null : role.creatorid,
  };
  return orNameTaken(insertRow<number>(knex, 'role', columns, 'roleid'), ...loginTaken(role.login));
}

/** Throws AppError NAME_TAKEN when another role of the tenant has the login. */
export async function updateRole(
  knex: ControlDb,
  tenantid: number,
  roleid: number,
  changes: RoleChanges,
): Promise<void> {
  if (Object.keys(changes).length === 0) return;
  await orNameTaken(
    knex('rowpost.role').where({ tenantid, roleid }).update(changes),
    ...loginTaken(changes.login ?? null),
  );
}

/**
 * @param setby the role that sets it
 * @param now tokens issued before it are refused from now on. Milliseconds since the epoch.
 */
export async function setPassword(
  knex: ControlDb,
  tenantid: number,
  roleid: number,
  passwordHash: string,
  setby: number,
  now: number,
): Promise<void> {
  await knex('rowpost.role')
    .where({ tenantid, roleid })
    .update({
      password_hash: passwordHash,
      password_createtime: knex.fn.now(),
      password_setby: setby,
      tokens_valid_from: new Date(now).toISOString(),
    });
}

/** @returns undefined when the tenant has no such role. Deleted roles are found. */
export function readRole(knex: ControlDb, tenantid: number, roleid: number): Promise<RoleRow | undefined> {
  return readRow<RoleRow>(knex, 'role', COLUMNS, { tenantid, roleid });
}

/** The roles of the tenant with these ids, by id. */
export function readRolesById(
  knex: ControlDb,
  tenantid: number,
  roleids: readonly number[],
): Promise<readonly RoleRow[]> {
  return readRows(knex, 'role', COLUMNS, { tenantid, roleid: roleids }, 'roleid');
}

/** The roles directly below one. */
export function readChildren(
  knex: ControlDb,
  tenantid: number,
  parentid: number,
): Promise<readonly RoleRow[]> {
  return readRows(knex, 'role', COLUMNS, { tenantid, parentid }, 'roleid');
}

/** Whether `roleid` is below `ancestor` in the tree, at any depth. */
export async function isBelow(knex: ControlDb, roleid: number, ancestor: number): Promise<boolean> {
  const { rows } = await knex.raw<{ rows: unknown[] }>(
    `with recursive above(roleid) as (
       select parentid from rowpost.role where roleid = ?
       union select r.parentid from rowpost.role r join above a on r.roleid = a.roleid
     ) select 1 from above where roleid = ?`,
    [roleid, ancestor],
  );
  return rows.length > 0;
}

/** Of the given ids, those that are no living role of the tenant. */
export async function findUnknownRoles(
  knex: ControlDb,
  tenantid: number,
  roleids: readonly number[],
): Promise<readonly number[]> {
  const rows = await knex('rowpost.role')
    .where({ tenantid, deleted: false })
    .whereIn('roleid', [...roleids])
    .select<{ roleid: number }[]>('roleid');
  const known = new Set(rows.map((row) => row.roleid));
  return roleids.filter((roleid) => !known.has(roleid));
}

/** @returns undefined when no living role of the tenant has the login. */
export async function findLogin(
  knex: ControlDb,
  tenantid: number,
  login: string,
): Promise<Login | undefined> {
  return await knex('rowpost.role')
    .where({ tenantid, login, deleted: false })
    .first<Login | undefined>('roleid', 'password_hash');
}

/** Whether another living role of the tenant has this login, in whatever case. */
export async function isLoginLike(
  knex: ControlDb,
  tenantid: number,
  login: string,
  except: number | undefined,
): Promise<boolean> {
  const row: unknown = await knex('rowpost.role')
    .where({ tenantid, deleted: false })
    .whereRaw('lower(login) = lower(?)', [login])
    .whereNot({ roleid: except ?? -1 })
    .first('roleid');
  return row !== undefined;
}

function loginTaken(login: string | null): [string, { field: string }] {
  return [`Another role of the tenant has the login "${login ?? ''}".`, { field: 'login' }];
}
