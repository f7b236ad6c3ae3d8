import { readPrincipal, type Principal } from '../../db/roles/principal.js';
import type { StatementRunner } from '../../db/sql/statementRunner.js';
import { isBelow } from '../roles/roles.js';

/** A role that signs in through a configuration, and the person's groups at the provider. */
interface Member {
  readonly tenantid: number;
  readonly confid: number;
  readonly roleid: number;
  readonly groups: readonly string[];
}

/**
 * The classes of the groups of a role below `parent` that `parent` and the role directly above it are in.
 * @param parent undefined if it is gone: then none
 */
export async function groupClassesOf(
  db: StatementRunner,
  member: Member,
  parent: Principal | undefined,
): Promise<readonly number[]> {
  const { tenantid, confid, roleid, groups } = member;
  if (!parent || groups.length === 0 || !(await isBelow(db, roleid, parent.roleid))) return [];
  const { rows } = await db.query<{ classid: number }>(
    `select distinct classid from rowpost.oidc_group_class
     where tenantid = $1 and confid = $2 and group_name = any ($3)`,
    [tenantid, confid, [...groups]],
  );
  return rows.map(({ classid }) => classid).filter(await isInEach(db, member, parent));
}

/** Whether the role is in these classes, and in no other because of its groups. */
export async function isInExactly(
  db: StatementRunner,
  { roleid, confid }: Member,
  classids: readonly number[],
): Promise<boolean> {
  const { rows } = await db.query(
    `select from rowpost.role r where r.roleid = $1
       and not exists (select unnest($3::int[]) except select unnest(r.classes))
       and not exists (
         select c.classid from rowpost.role_oidc_class c where c.roleid = r.roleid and c.confid = $2
         except select unnest($3::int[]))`,
    [roleid, confid, [...classids]],
  );
  return rows.length > 0;
}

/**
 * Puts a role into the classes of its groups, and out of those of groups that it has no longer. Classes given by hand stay.
 * @returns the names of those that it joins and leaves, in words; undefined if nothing changes
 */
export async function setGroupClasses(
  db: StatementRunner,
  { roleid, confid }: Member,
  classids: readonly number[],
): Promise<string | undefined> {
  const before = await classesOf(db, roleid);
  const left = await db.query(
    `delete from rowpost.role_oidc_class
     where roleid = $1 and confid = $2 and classid not in (select unnest($3::int[]))`,
    [roleid, confid, [...classids]],
  );
  // One that was given by hand has no row, and stays when the group goes.
  await db.query(
    `insert into rowpost.role_oidc_class (tenantid, roleid, confid, classid)
     select r.tenantid, r.roleid, $2::int, g.classid
     from (
       (select unnest($3::int[]) except select unnest(classes) from rowpost.role where roleid = $1)
       union (select unnest($3::int[]) intersect select classid from rowpost.role_oidc_class where roleid = $1)
     ) g(classid), rowpost.role r where r.roleid = $1
     on conflict do nothing`,
    [roleid, confid, [...classids]],
  );
  const joined = await db.query(
    `with missing(classids) as (
       select array_agg(classid order by classid) from (
         select classid from rowpost.role_oidc_class where roleid = $1
         except select unnest(classes) from rowpost.role where roleid = $1) m)
     update rowpost.role r set classes = r.classes || missing.classids from missing
     where r.roleid = $1 and missing.classids is not null`,
    [roleid],
  );
  if (left.rowCount === 0 && joined.rowCount === 0) return undefined;
  return describeChange(db, before, await classesOf(db, roleid));
}

async function classesOf(db: StatementRunner, roleid: number): Promise<readonly number[]> {
  const { rows } = await db.query<{ classes: readonly number[] }>(
    'select classes from rowpost.role where roleid = $1',
    [roleid],
  );
  return rows[0]?.classes ?? [];
}

/** An index of what happened at sign-ins has the text as a part of its key. */
const MAX_CHANGE_CHARACTERS = 300;

async function describeChange(
  db: StatementRunner,
  before: readonly number[],
  after: readonly number[],
): Promise<string> {
  const had = new Set(before);
  const has = new Set(after);
  const { rows } = await db.query<{ classid: number; name: string }>(
    `select classid, left(name, ${MAX_CHANGE_CHARACTERS}) as name from rowpost.role_class where classid = any ($1) order by name`,
    [[...after.filter((classid) => !had.has(classid)), ...before.filter((classid) => !has.has(classid))]],
  );
  const joined = rows.filter(({ classid }) => has.has(classid));
  const left = rows.filter(({ classid }) => !has.has(classid));
  // More don't fit into the text.
  const namesOf = (some: typeof rows): string =>
    some
      .slice(0, MAX_CHANGE_CHARACTERS)
      .map(({ name }) => name)
      .join(', ');
  const text = [
    ...(joined.length > 0 ? [`joined ${namesOf(joined)}`] : []),
    ...(left.length > 0 ? [`left ${namesOf(left)}`] : []),
  ].join('; ');
  return Array.from(text).slice(0, MAX_CHANGE_CHARACTERS).join('');
}

/** Whether the role may have others in a class. */
export function isIn({ isAdmin, classes }: Principal): (classid: number) => boolean {
  const held = new Set(classes);
  return (classid) => isAdmin || held.has(classid);
}

/** Whether a class is held by the configuration's parent and by the role directly above, where that is another one. */
async function isInEach(
  db: StatementRunner,
  { tenantid, roleid }: Member,
  parent: Principal,
): Promise<(classid: number) => boolean> {
  const { rows } = await db.query<{ parentid: number | null }>(
    'select parentid from rowpost.role where tenantid = $1 and roleid = $2',
    [tenantid, roleid],
  );
  const parentid = rows[0]?.parentid ?? undefined;
  const above = parentid === undefined ? undefined : await readPrincipal(db, tenantid, parentid);
  const holders = [parent, ...(above ? [above] : [])].map(isIn);
  return (classid) => holders.every((holds) => holds(classid));
}
