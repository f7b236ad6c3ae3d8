import type { ControlDb } from '../../db/database.js';
import { orNameTaken } from '../object/nameTaken.js';
import { insertRow, readRow, readRows } from '../object/storedRows.js';

/** Who else is in a class: nobody; roles made below a member, from then on; all roles below a member, for as long as it is one. */
export type Inherit = 'none' | 'creation' | 'full';

export interface RoleClassRow {
  readonly classid: number;
  readonly tenantid: number;
  readonly name: string;
  readonly inherit: Inherit;
  /** Ids of the roles that were put there; not of those that inherit it. */
  readonly members: readonly number[];
  /** Whether visitors may sign up into it. */
  readonly allow_signup: boolean;
  readonly creatorid: number | null;
  readonly createtime: string;
}

const COLUMNS = 'classid, tenantid, name, inherit, members, allow_signup, creatorid, createtime';

/** Throws AppError NAME_TAKEN. @returns classid. */
export function insertRoleClass(
  knex: ControlDb,
  values: {
    readonly tenantid: number;
    readonly name: string;
    readonly inherit: Inherit;
    readonly creatorid: number;
    readonly allow_signup: boolean;
  },
): Promise<number> {
  return orNameTaken(insertRow<number>(knex, 'role_class', values, 'classid'), ...nameTaken(values.name));
}

/** Throws AppError NAME_TAKEN. */
export async function updateRoleClass(
  knex: ControlDb,
  tenantid: number,
  classid: number,
  changes: { readonly name?: string; readonly inherit?: Inherit; readonly allow_signup?: boolean },
): Promise<void> {
  if (Object.keys(changes).length === 0) return;
  await orNameTaken(
    knex('rowpost.role_class').where({ tenantid, classid }).update(changes),
    ...nameTaken(changes.name ?? ''),
  );
}

/** Deletes the class and takes all roles out of it. Rules must not name it: see `isNamedByRules`. */
export async function deleteRoleClass(knex: ControlDb, tenantid: number, classid: number): Promise<void> {
  await knex.raw(
    'update rowpost.role set classes = array_remove(classes, ?) where tenantid = ? and ? = any (classes)',
    [classid, tenantid, classid],
  );
  await knex('rowpost.role_class').where({ tenantid, classid }).delete();
}

/** A rule that loses its last class would hold for every role. */
export async function isNamedByRules(knex: ControlDb, tenantid: number, classid: number): Promise<boolean> {
  const row: unknown = await knex('rowpost.policy_rule')
    .where({ tenantid })
    .whereRaw('? = any (classes)', [classid])
    .first('ruleid');
  return row !== undefined;
}

/** Its members, and deleted roles that were: those below these still have it, if it is inherited. */
export async function readHolders(
  knex: ControlDb,
  tenantid: number,
  classid: number,
): Promise<readonly number[]> {
  const rows = await knex('rowpost.role')
    .where({ tenantid })
    .whereRaw('? = any (classes)', [classid])
    .orderBy('roleid')
    .select<{ roleid: number }[]>('roleid');
  return rows.map((row) => row.roleid);
}

/** Puts roles into a class and takes others out. */
export async function changeMembers(
  knex: ControlDb,
  tenantid: number,
  classid: number,
  change: { readonly added: readonly number[]; readonly removed: readonly number[] },
): Promise<void> {
  const roles = (roleids: readonly number[]) =>
    knex('rowpost.role')
      .where({ tenantid })
      .whereIn('roleid', [...roleids]);
  if (change.added.length > 0) {
    await roles(change.added).update({ classes: knex.raw('array_append(classes, ?)', [classid]) });
  }
  if (change.removed.length > 0) {
    await roles(change.removed).update({ classes: knex.raw('array_remove(classes, ?)', [classid]) });
  }
}

/** @returns undefined when the tenant has no such class. */
export function readRoleClass(
  knex: ControlDb,
  tenantid: number,
  classid: number,
): Promise<RoleClassRow | undefined> {
  return readRow<RoleClassRow>(knex, 'role_class_shown', COLUMNS, { tenantid, classid });
}

/** The classes of the tenant with these ids, by id. */
export function readRoleClassesById(
  knex: ControlDb,
  tenantid: number,
  classids: readonly number[],
): Promise<readonly RoleClassRow[]> {
  return readRows(knex, 'role_class_shown', COLUMNS, { tenantid, classid: classids }, 'classid');
}

/** The classes that visitors may sign up into. */
export async function signupClasses(knex: ControlDb, tenantid: number): Promise<readonly number[]> {
  const rows = await knex('rowpost.role_class')
    .where({ tenantid, allow_signup: true })
    .select<{ classid: number }[]>('classid');
  return rows.map((row) => row.classid);
}

/** The classes that a role made below `parentid` begins with. */
export async function classesAtCreation(
  knex: ControlDb,
  tenantid: number,
  parentid: number,
): Promise<readonly number[]> {
  const rows = await knex('rowpost.role_class as c')
    .join('rowpost.role as r', 'r.tenantid', 'c.tenantid')
    .where({ 'r.tenantid': tenantid, 'r.roleid': parentid, 'c.inherit': 'creation' })
    .whereRaw('c.classid = any (r.classes)')
    .orderBy('c.classid')
    .select<{ classid: number }[]>('c.classid');
  return rows.map((row) => row.classid);
}

/** Of the given ids, those that are no class of the tenant. */
export async function findUnknownClasses(
  knex: ControlDb,
  tenantid: number,
  classids: readonly number[],
): Promise<readonly number[]> {
  if (classids.length === 0) return [];
  const rows = await knex('rowpost.role_class')
    .where({ tenantid })
    .whereIn('classid', [...classids])
    .select<{ classid: number }[]>('classid');
  const known = new Set(rows.map((row) => row.classid));
  return classids.filter((classid) => !known.has(classid));
}

function nameTaken(name: string): [string, { field: string }] {
  return [`Another class of the tenant is named "${name}".`, { field: 'name' }];
}
