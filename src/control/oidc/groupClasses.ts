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

/** Whether there is nothing to change: the role is in exactly the classes of its groups, of those that come from groups. */
export async function isInGroupClasses(db: ControlDb, member: Member): Promise<boolean> {
  const { rows } = await db.raw<{ rows: { same: boolean }[] }>(
    `select coalesce((select array_agg(distinct g.classid order by g.classid) from rowpost.oidc_group_class g
         where g.tenantid = :tenantid and g.confid = :confid and g.group_name = any (:groups)), '{}')
       = coalesce((select array_agg(c.classid order by c.classid) from rowpost.role_oidc_class c
         join rowpost.role r using (roleid)
         where c.roleid = :roleid and c.confid = :confid and c.classid = any (r.classes)), '{}') as same`,
    { ...member, groups: [...member.groups] },
  );
  return rows[0]?.same === true;
}

/**
 * Puts a role below `parent` into the classes of its groups that `parent` and the role above it are in, and out of those of groups that it
 * has no longer. Classes given by hand stay.
 */
export async function setGroupClasses(db: ControlDb, member: Member, parent: Principal): Promise<boolean> {
  const { tenantid, confid, roleid, groups } = member;
  const classids = (await isBelow(db, roleid, parent.roleid))
    ? (await classesOf(db, { tenantid, confid, groups })).filter(await isInEach(db, member, parent))
    : [];
  const left = await db.raw<Written>(
    'delete from rowpost.role_oidc_class where roleid = ? and confid = ? and classid <> all (?)',
    [roleid, confid, classids],
  );
  // One that was given by hand has no row, and stays when the group goes.
  await db.raw(
    `insert into rowpost.role_oidc_class (tenantid, roleid, confid, classid)
     select r.tenantid, r.roleid, :confid, c.classid from rowpost.role r, unnest(:classids::int[]) c(classid)
     where r.roleid = :roleid and (c.classid <> all (r.classes)
       or exists (select from rowpost.role_oidc_class o where o.roleid = r.roleid and o.classid = c.classid))
     on conflict do nothing`,
    { confid, roleid, classids },
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

async function classesOf(
  db: ControlDb,
  { tenantid, confid, groups }: Omit<Member, 'roleid'>,
): Promise<readonly number[]> {
  const rows = await db('rowpost.oidc_group_class')
    .where({ tenantid, confid })
    .whereRaw('group_name = any (?)', [[...groups]])
    .distinct<{ classid: number }[]>('classid');
  return rows.map(({ classid }) => classid);
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
