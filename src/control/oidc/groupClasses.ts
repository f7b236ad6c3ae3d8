import type { ControlDb } from '../../db/pool/database.js';
import { readPrincipal, type Principal } from '../../db/roles/principal.js';
import { isBelow } from '../roles/roles.js';

/** A role that signs in through a configuration, and the person's groups at the provider. */
interface Member {
  readonly tenantid: number;
  readonly confid: number;
  readonly roleid: number;
  readonly groups: readonly string[];
}

/** The classes of the groups of a role below `parent` that `parent` and the role directly above it are in. */
export async function groupClassesOf(
  db: ControlDb,
  member: Member,
  parent: Principal,
): Promise<readonly number[]> {
  const { tenantid, confid, roleid, groups } = member;
  if (groups.length === 0 || !(await isBelow(db, roleid, parent.roleid))) return [];
  const rows = await db('rowpost.oidc_group_class')
    .where({ tenantid, confid })
    .whereRaw('group_name = any (?)', [[...groups]])
    .distinct<{ classid: number }[]>('classid');
  return rows.map(({ classid }) => classid).filter(await isInEach(db, member, parent));
}

/** Whether the role is in these classes, and in no other because of its groups. */
export async function isInExactly(
  db: ControlDb,
  { roleid, confid }: Member,
  classids: readonly number[],
): Promise<boolean> {
  const { rows } = await db.raw<{ rows: { same: boolean }[] }>(
    `select r.classes @> :classids::int[] and not exists (
       select from rowpost.role_oidc_class c
       where c.roleid = r.roleid and c.confid = :confid and c.classid <> all (:classids::int[])) as same
     from rowpost.role r where r.roleid = :roleid`,
    { roleid, confid, classids: [...classids] },
  );
  return rows[0]?.same === true;
}

/**
 * Puts a role into the classes of its groups, and out of those of groups that it has no longer. Classes given by hand stay.
 * @returns whether that changes any
 */
export async function setGroupClasses(
  db: ControlDb,
  { roleid, confid }: Member,
  classids: readonly number[],
): Promise<boolean> {
  const left = await db.raw<Written>(
    'delete from rowpost.role_oidc_class where roleid = ? and confid = ? and classid <> all (?)',
    [roleid, confid, [...classids]],
  );
  // One that was given by hand has no row, and stays when the group goes.
  await db.raw(
    `insert into rowpost.role_oidc_class (tenantid, roleid, confid, classid)
     select r.tenantid, r.roleid, :confid, c.classid from rowpost.role r, unnest(:classids::int[]) c(classid)
     where r.roleid = :roleid and (c.classid <> all (r.classes)
       or exists (select from rowpost.role_oidc_class o where o.roleid = r.roleid and o.classid = c.classid))
     on conflict do nothing`,
    { confid, roleid, classids: [...classids] },
  );
  const joined = await db.raw<Written>(
    `update rowpost.role r set classes = r.classes || array(
       select distinct c.classid from rowpost.role_oidc_class c
       where c.roleid = r.roleid and c.classid <> all (r.classes) order by 1)
     where r.roleid = :roleid and exists (
       select from rowpost.role_oidc_class c where c.roleid = r.roleid and c.classid <> all (r.classes))`,
    { roleid },
  );
  return left.rowCount + joined.rowCount > 0;
}

interface Written {
  readonly rowCount: number;
}

/** Whether the role may have others in a class. */
export function isIn({ isAdmin, classes }: Principal): (classid: number) => boolean {
  return (classid) => isAdmin || classes.includes(classid);
}

/** Whether a class is held by the configuration's parent and by the role directly above, where that is another one. */
async function isInEach(
  db: ControlDb,
  { tenantid, roleid }: Member,
  parent: Principal,
): Promise<(classid: number) => boolean> {
  const row = await db('rowpost.role')
    .where({ tenantid, roleid })
    .first<{ parentid: number | null } | undefined>('parentid');
  const above = row?.parentid == null ? undefined : await readPrincipal(db, tenantid, row.parentid);
  const holders = [parent, ...(above ? [above] : [])];
  return (classid) => holders.every((holder) => isIn(holder)(classid));
}
