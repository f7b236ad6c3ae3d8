import type { ControlDb } from '../../db/connection/database.js';

/** The classes that visitors may sign up into. */
export async function signupClasses(db: ControlDb, tenantid: number): Promise<readonly number[]> {
  const rows = await db('rowpost.role_class')
    .where({ tenantid, allow_signup: true })
    .select<{ classid: number }[]>('classid');
  return rows.map((row) => row.classid);
}

/** The classes that a new role below `parentid` starts with. */
export async function classesAtCreation(
  db: ControlDb,
  tenantid: number,
  parentid: number,
): Promise<readonly number[]> {
  const rows = await db('rowpost.role_class as c')
    .join('rowpost.role as r', 'r.tenantid', 'c.tenantid')
    .where({ 'r.tenantid': tenantid, 'r.roleid': parentid, 'c.inherit': 'creation' })
    .whereRaw('c.classid = any (r.classes)')
    .orderBy('c.classid')
    .select<{ classid: number }[]>('c.classid');
  return rows.map((row) => row.classid);
}
