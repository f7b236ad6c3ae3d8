import type { StatementRunner } from '../../db/sql/statementRunner.js';

/** Something that one role has and another lacks. */
export interface Excess {
  readonly roleid: number;
  readonly kind: 'capability' | 'class' | 'rule';
  /** The capability's name, or the id of the class or rule. */
  readonly what: string;
}

/**
 * Finds a capability, class or policy rule in scope that a role has and `than` lacks. Rules for every role don't count.
 * @param below whether roles below it count too, which have its fully inherited classes
 * @returns undefined if `than` lacks nothing
 */
export async function findExcess(
  db: StatementRunner,
  tenantid: number,
  roleid: number,
  { than, below }: { readonly than: number; readonly below: boolean },
): Promise<Excess | undefined> {
  const { rows } = await db.query<Excess>(EXCESS_SQL, [tenantid, roleid, than, below]);
  return rows[0];
}

const EXCESS_SQL = `
  with recursive tree(roleid, deleted) as (
    select roleid, false from rowpost.role where tenantid = $1::int and roleid = $2::int
    union select r.roleid, r.deleted from rowpost.role r join tree t on r.parentid = t.roleid where $4::boolean
  ), target as (
    -- A deleted role reaches nothing, but those below it still have its classes.
    select roleid from tree where not deleted
  ), line(start, roleid, parentid, classes) as (
    select roleid, roleid, parentid, classes from rowpost.role
      where tenantid = $1::int and (roleid = $3::int or roleid in (select roleid from target))
    union select l.start, r.roleid, r.parentid, r.classes from rowpost.role r join line l on r.roleid = l.parentid
  ), class_held(roleid, classid, capabilities) as (
    select distinct l.start, c.classid, c.capabilities from line l join rowpost.role_class c
      on c.tenantid = $1::int and c.classid = any (l.classes) and (c.inherit = 'full' or l.roleid = l.start)
  ), rule_held(roleid, ruleid) as (
    select s.start, p.ruleid from (select distinct start from line) s join rowpost.policy_rule p
      on p.tenantid = $1::int and (s.start = any (p.roles)
        or exists (select from class_held h where h.roleid = s.start and h.classid = any (p.classes)))
  ), held(roleid, kind, what) as (
    select r.roleid, 'capability', unnest(r.capabilities) from rowpost.role r
      where r.roleid in (select start from line)
    union all select roleid, 'capability', unnest(capabilities) from class_held
    union all select roleid, 'class', classid::text from class_held
    union all select roleid, 'rule', ruleid::text from rule_held
  )
  select h.roleid, h.kind, h.what from held h join target t using (roleid)
  where not exists (select from held o where o.roleid = $3::int and (o.kind, o.what) = (h.kind, h.what))
  order by h.kind, h.roleid, h.what limit 1`;
