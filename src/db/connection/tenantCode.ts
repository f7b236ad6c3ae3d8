import { createHash } from 'node:crypto';
import type { ClientBase } from 'pg';

/**
 * Finds code of the tenant in a schema: anything that runs statements of the tenant's choice inside ours. Pure computation
 * does not count: PostgreSQL's own functions in defaults, checks, views, policies and indexes.
 * @returns the kinds of objects found, such as `trigger`; empty if there are none. Throws what pg throws.
 */
export async function findTenantCode(client: ClientBase, schema: string): Promise<readonly string[]> {
  const { rows } = await client.query<{ kind: string }>(TENANT_CODE_SQL, [schema]);
  return rows.map(({ kind }) => kind);
}

/**
 * A function is harmless if it is built into PostgreSQL and has no effect on the session, which excludes volatile functions
 * other than those listed. `…_to_xml` run statements or views passed to them. `pg_input_…` and the functions that read a type's
 * text, such as `domain_in`, run the checks of a type whose name or oid they get.
 * XPath evaluation can't be canceled, and could occupy a shared connection for hours; what a shared session has prepared
 * for others is not to be read. Extensions' functions in C, which only a superuser can create, are harmless if immutable,
 * unlike `crosstab` and its kind.
 *
 * A view, a foreign key, an inherited table or a type of another schema brings in that schema's code, and any role that may
 * reference a table or create triggers on it can add code at any time. So can another role that owns a table or type, or
 * may create one in the schema.
 *
 * Expressions are stored as node trees, which name what they call by oid:
 * https://www.postgresql.org/docs/current/catalog-pg-attrdef.html
 */
const TENANT_CODE_SQL = `
with member as materialized (
  select d.classid, d.objid from pg_catalog.pg_depend d
  where d.refclassid = 'pg_catalog.pg_namespace'::regclass
    and d.refobjid = (select oid from pg_catalog.pg_namespace where nspname = $1)
),
relation as materialized (
  select c.oid, c.relkind, c.relpartbound, c.relowner, c.relacl from member m join pg_catalog.pg_class c on c.oid = m.objid
  where m.classid = 'pg_catalog.pg_class'::regclass and c.relkind in ('r', 'p', 'f', 'v', 'm')
),
-- A table's row type and arrays depend on their table and elements, not on the schema.
own_type as materialized (
  select y.oid, y.typarray from member m join pg_catalog.pg_type y on y.oid = m.objid
    where m.classid = 'pg_catalog.pg_type'::regclass
  union all select y.oid, y.typarray from relation r join pg_catalog.pg_type y on y.typrelid = r.oid
  union all select y.oid, y.typarray from member m join pg_catalog.pg_range g on g.rngtypid = m.objid
    join pg_catalog.pg_type y on y.oid = g.rngmultitypid
    where m.classid = 'pg_catalog.pg_type'::regclass
),
tree as (
  select d.adbin::text as nodes, 'default' as kind from relation r join pg_catalog.pg_attrdef d on d.adrelid = r.oid
  union all select k.conbin::text, 'constraint' from relation r join pg_catalog.pg_constraint k on k.conrelid = r.oid
  union all select k.conbin::text, 'domain' from member m join pg_catalog.pg_constraint k on k.contypid = m.objid
    where m.classid = 'pg_catalog.pg_type'::regclass
  union all select y.typdefaultbin::text, 'domain' from member m join pg_catalog.pg_type y on y.oid = m.objid
    where m.classid = 'pg_catalog.pg_type'::regclass
  union all select t.tgqual::text, 'trigger'
    from relation r join pg_catalog.pg_trigger t on t.tgrelid = r.oid where not t.tgisinternal
  union all select concat(i.indexprs::text, i.indpred::text), 'index'
    from relation r join pg_catalog.pg_index i on i.indrelid = r.oid
  union all select concat(w.ev_action::text, w.ev_qual::text), 'view'
    from relation r join pg_catalog.pg_rewrite w on w.ev_class = r.oid
  union all select p.partexprs::text, 'partition key'
    from relation r join pg_catalog.pg_partitioned_table p on p.partrelid = r.oid
  union all select r.relpartbound::text, 'partition bound' from relation r
  union all select concat(p.polqual::text, p.polwithcheck::text), 'policy'
    from relation r join pg_catalog.pg_policy p on p.polrelid = r.oid
),
called as (
  select distinct t.kind, m[2]::oid as function from tree t,
    regexp_matches(t.nodes, ':(funcid|aggfnoid|winfnoid|opfuncid) ([0-9]+)', 'g') m
  union
  select distinct t.kind, o.oprcode::oid from tree t,
    regexp_matches(t.nodes, ':(?:opno|eqop|sortop|opnos \\(o) ([0-9 ]+)', 'g') m,
    unnest(string_to_array(trim(m[1]), ' ')::oid[]) operator
    join pg_catalog.pg_operator o on o.oid = operator
  union
  select 'trigger', t.tgfoid from relation r join pg_catalog.pg_trigger t on t.tgrelid = r.oid where not t.tgisinternal
  union
  select 'function', m.objid from member m where m.classid = 'pg_catalog.pg_proc'::regclass
  union
  select 'operator', o.oprcode::oid from member m join pg_catalog.pg_operator o on o.oid = m.objid
    where m.classid = 'pg_catalog.pg_operator'::regclass
  union
  select 'cast', c.castfunc from pg_catalog.pg_cast c
    where c.castfunc <> 0 and exists (select from own_type y, unnest(array[y.oid, y.typarray]) t(oid)
      where t.oid in (c.castsource, c.casttarget))
),
referrer as (
  select m.classid, m.objid from member m
  union all select 'pg_catalog.pg_class'::regclass, y.typrelid from member m join pg_catalog.pg_type y on y.oid = m.objid
    where m.classid = 'pg_catalog.pg_type'::regclass and y.typrelid <> 0
  union all select 'pg_catalog.pg_rewrite'::regclass, w.oid
    from relation r join pg_catalog.pg_rewrite w on w.ev_class = r.oid
  union all select 'pg_catalog.pg_constraint'::regclass, k.oid
    from relation r join pg_catalog.pg_constraint k on k.conrelid = r.oid
),
reference as (
  select d.refclassid as classid, d.refobjid as objid, coalesce(c.relnamespace, y.typnamespace, p.pronamespace) as namespace,
    coalesce(c.relowner, y.typowner, p.proowner) as owner
  from referrer o join pg_catalog.pg_depend d on d.classid = o.classid and d.objid = o.objid
  left join pg_catalog.pg_class c on d.refclassid = 'pg_catalog.pg_class'::regclass and c.oid = d.refobjid
  left join pg_catalog.pg_type y on d.refclassid = 'pg_catalog.pg_type'::regclass and y.oid = d.refobjid
  left join pg_catalog.pg_proc p on d.refclassid = 'pg_catalog.pg_proc'::regclass and p.oid = d.refobjid
  union all
  -- Not all have a dependency. Of the numbers in a tree, positions and lengths are no oids.
  select 'pg_catalog.pg_type'::regclass, y.oid, y.typnamespace, y.typowner from tree t,
    regexp_matches(t.nodes, ':(\\w+) (?:\\(o )?([0-9 ]*[0-9]{5}[0-9 ]*)', 'g') m,
    unnest(string_to_array(trim(m[2]), ' ')) number
    join pg_catalog.pg_type y on y.oid = case when length(number) > 10 then null when number::int8 < 4294967296 then number::oid end
    where m[1] !~ 'location$|^list_|^stmt_|^constvalue$'
  union all
  select 'pg_catalog.pg_class'::regclass, c.oid, c.relnamespace, c.relowner from relation r
    join pg_catalog.pg_depend d on d.refclassid = 'pg_catalog.pg_class'::regclass and d.refobjid = r.oid
    left join pg_catalog.pg_constraint k on d.classid = 'pg_catalog.pg_constraint'::regclass and k.oid = d.objid
    join pg_catalog.pg_class c on c.oid = case when d.classid = 'pg_catalog.pg_class'::regclass then d.objid else k.conrelid end
    where c.relkind in ('r', 'p', 'f')
)
select distinct kind from called c join pg_catalog.pg_proc p on p.oid = c.function
where not case
  when p.oid in ('rowpost.capture_rows'::regproc, 'rowpost.note_move_change'::regproc) then true
  when p.oid >= 16384 then p.provolatile = 'i' and p.prolang = (select oid from pg_catalog.pg_language where lanname = 'c')
    and exists (select from pg_catalog.pg_depend d where d.classid = 'pg_catalog.pg_proc'::regclass
      and d.objid = p.oid and d.deptype = 'e')
  when p.provolatile <> 'v' then p.proname !~ 'xml|xpath' and p.proname not in
    ('pg_input_is_valid', 'pg_input_error_info', 'pg_prepared_statement', 'pg_cursor')
    and p.oid not in (select typinput from pg_catalog.pg_type)
  else p.proname in ('nextval', 'random', 'random_normal', 'clock_timestamp', 'timeofday', 'gen_random_uuid', 'uuidv4',
    'uuidv7', 'tsvector_update_trigger', 'tsvector_update_trigger_column', 'suppress_redundant_updates_trigger') end
union
select 'rule' from relation r join pg_catalog.pg_rewrite w on w.ev_class = r.oid where w.rulename <> '_RETURN'
union
-- XMLTABLE is a node of its own, with an XPath expression.
select t.kind from tree t where t.nodes like '%{TABLEFUNC %'
union
select t.kind from tree t, regexp_matches(t.nodes, ':relid ([0-9]+)', 'g') m
where m[1]::oid in ('pg_catalog.pg_prepared_statements'::regclass, 'pg_catalog.pg_cursors'::regclass)
union
select 'foreign table' from relation r where r.relkind = 'f'
union
select 'other schema' from reference f
where f.objid >= 16384 and f.namespace <> (select oid from pg_catalog.pg_namespace where nspname = $1)
  -- Who owns an extension may add objects of his own to it.
  and not exists (select from pg_catalog.pg_depend d, pg_catalog.pg_roles o
    where d.classid = f.classid and d.objid = f.objid and d.deptype = 'e'
      and o.oid = f.owner and (o.rolsuper or o.rolname = current_user))
union
select 'grant' from relation r, aclexplode(r.relacl) a
where a.grantee <> r.relowner and a.privilege_type in ('REFERENCES', 'TRIGGER')
union
select 'grant' from relation r join pg_catalog.pg_attribute t on t.attrelid = r.oid, aclexplode(t.attacl) a
where a.grantee <> r.relowner and a.privilege_type = 'REFERENCES'
union
select 'grant' from pg_catalog.pg_namespace n, aclexplode(n.nspacl) a join pg_catalog.pg_roles o on o.oid = a.grantee
where n.nspname = $1 and a.privilege_type = 'CREATE' and a.grantee <> n.nspowner and not o.rolsuper and o.rolname <> current_user
union
select 'grant' from pg_catalog.pg_namespace n, aclexplode(n.nspacl) a
where n.nspname = $1 and a.privilege_type = 'CREATE' and a.grantee = 0
union
select 'owner' from (
    select r.relowner as owner from relation r
    union select y.typowner from own_type o join pg_catalog.pg_type y on y.oid = o.oid
  ) made join pg_catalog.pg_roles o on o.oid = made.owner
where not o.rolsuper and o.rolname <> current_user
  and made.owner <> (select nspowner from pg_catalog.pg_namespace where nspname = $1)
union
-- Its owner may bring code at any time.
select 'adopted' from rowpost.tenant t where t.schema = $1 and t.adopted
order by kind`;

/** Identifies the definition of tenant code, which may differ in another release. */
export const TENANT_CODE_VERSION = createHash('sha256').update(TENANT_CODE_SQL).digest('hex').slice(0, 16);
