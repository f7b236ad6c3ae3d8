import { createHash } from 'node:crypto';
import type { ClientBase } from 'pg';
import { sql, statement, textConstant, type Sql } from '../sql/sql.js';

/**
 * Whether a schema is plain: made only of what `PLAIN_SQL` lists, none of which runs statements of a tenant's choice, whatever the
 * tenant writes. Everything else, also what nobody has thought of, needs connections of the tenant's own login.
 *
 * The list: tables, partitions and sequences; columns of PostgreSQL's types of values, of enums and domains of the schema, and of
 * types that extensions of a superuser or the service bring; primary, unique, exclusion and foreign keys and inheritance within
 * the schema; indexes; and defaults, checks, generated columns and index expressions of the functions and operators below.
 * @returns undefined if it is plain; otherwise the kind of an object that is not, such as `trigger`. Throws what pg throws.
 */
export async function findNotPlain(
  client: ClientBase,
  schema: string,
  { shared, tenant }: { readonly shared: string; readonly tenant: string },
): Promise<string | undefined> {
  const { rows } = await client.query<{ kind: string }>(PLAIN_SQL, [schema, shared, tenant]);
  return rows[0]?.kind;
}

const TYPES = `bool int2 int4 int8 numeric float4 float8 money text varchar bpchar char bytea bit varbit uuid json jsonb
  date time timetz timestamp timestamptz interval inet cidr macaddr macaddr8 point line lseg box path polygon circle tsvector tsquery
  int4range int8range numrange daterange tsrange tstzrange
  int4multirange int8multirange nummultirange datemultirange tsmultirange tstzmultirange`;

/** A call has arguments of the types above where these accept any; the last two are names of sequences and of configurations of text search. */
const TYPES_OF_FUNCTIONS = `any anyelement anyarray anynonarray anyenum anyrange anymultirange anycompatible anycompatiblearray
  anycompatiblenonarray anycompatiblerange regclass regconfig`;

/** Those of operators and casts between such types are allowed as well. */
const FUNCTIONS = `abs ceil ceiling floor round trunc sign sqrt cbrt power mod div exp ln log gcd lcm
  length char_length character_length octet_length bit_length lower upper initcap btrim ltrim rtrim left right substr substring
  strpos position replace translate reverse lpad rpad repeat split_part starts_with concat concat_ws to_hex ascii chr md5 sha224
  sha256 sha384 sha512 encode decode regexp_match regexp_replace regexp_like regexp_count regexp_substr
  like_escape similar_to_escape similar_escape
  now transaction_timestamp statement_timestamp clock_timestamp timezone date_trunc date_part extract date_bin age make_date make_time
  make_timestamp make_timestamptz make_interval to_timestamp justify_days justify_hours justify_interval isfinite overlaps to_char to_date to_number
  nextval random gen_random_uuid uuidv4 uuidv7 uuid_extract_timestamp
  cardinality array_length array_lower array_upper array_ndims array_position array_append array_prepend array_cat array_remove
  array_replace string_to_array array_to_string num_nulls num_nonnulls
  json_typeof jsonb_typeof json_array_length jsonb_array_length json_build_object jsonb_build_object json_build_array
  jsonb_build_array json_extract_path json_extract_path_text jsonb_extract_path jsonb_extract_path_text to_json to_jsonb
  jsonb_set jsonb_strip_nulls json_strip_nulls
  int4range int8range numrange daterange tsrange tstzrange isempty lower_inc upper_inc lower_inf upper_inf range_merge
  to_tsvector to_tsquery plainto_tsquery setweight strip host masklen network netmask family`;

/** In C, of a superuser or the service. */
const FUNCTIONS_OF_EXTENSIONS =
  'gen_random_uuid uuid_generate_v1 uuid_generate_v1mc uuid_generate_v4 uuid_generate_v7';

/** Nodes of expressions, none of which holds a name. PostgreSQL 15 and later: https://github.com/postgres/postgres/blob/master/src/include/nodes/primnodes.h */
const NODES = `VAR CONST FUNCEXPR OPEXPR DISTINCTEXPR NULLIFEXPR SCALARARRAYOPEXPR BOOLEXPR BOOLEANTEST NULLTEST RELABELTYPE
  COERCEVIAIO ARRAYCOERCEEXPR COERCETODOMAIN COERCETODOMAINVALUE COLLATEEXPR CASEEXPR CASEWHEN CASETESTEXPR COALESCEEXPR
  MINMAXEXPR ARRAYEXPR SUBSCRIPTINGREF SQLVALUEFUNCTION PARTITIONBOUNDSPEC PARTITIONRANGEDATUM`;

/** Catalogs of what may depend on a table: what is part of it is checked below, and the rest only reads it. */
const DEPENDENTS = `pg_class pg_type pg_attrdef pg_constraint pg_trigger pg_rewrite pg_policy pg_proc pg_publication_rel`;

/** Of all node trees together, which are about five times as long as their constants: read in half a second. */
const MAX_NODES_BYTES = 32_000_000;

const list = (words: string): Sql => sql`${textConstant(`{${words.split(/\s+/).join(',')}}`)}::text[]`;

/**
 * Which functions an expression calls is only in its node tree, by oid: a dependency on what PostgreSQL brings is not recorded.
 * What others may add later counts as well: by a grant, by owning the schema or something in it, or as a member of the tenant's role.
 * `$1`: the schema; `$2`: the shared login; `$3`: the tenant's role.
 */
const PLAIN_SQL = statement`
with trusted as materialized (
  -- Who owns an extension may add objects of his own to it.
  select oid from pg_catalog.pg_roles where rolsuper or rolname = current_user
),
space as materialized (select oid, nspowner from pg_catalog.pg_namespace where nspname = $1),
member as materialized (
  select d.classid, d.objid from pg_catalog.pg_depend d
  where d.refclassid = 'pg_catalog.pg_namespace'::regclass and d.refobjid = (select oid from space)
),
relation as materialized (
  select c.oid, c.relkind, c.relowner, c.relacl, c.reltype, c.relpartbound
  from member m join pg_catalog.pg_class c on c.oid = m.objid where m.classid = 'pg_catalog.pg_class'::regclass
),
own_type as materialized (
  select y.oid, y.typarray, y.typtype, y.typbasetype, y.typowner, y.typdefaultbin, y.typcollation
  from member m join pg_catalog.pg_type y on y.oid = m.objid where m.classid = 'pg_catalog.pg_type'::regclass
),
brought as materialized (
  select d.classid, d.objid from pg_catalog.pg_depend d
  where d.refclassid = 'pg_catalog.pg_extension'::regclass and d.deptype = 'e'
),
plain_type as materialized (
  select y.oid from pg_catalog.pg_type y
    where y.oid < 16384 and y.typnamespace = 'pg_catalog'::regnamespace and y.typname = any(${list(TYPES)})
  union select y.oid from own_type y where y.typtype in ('e', 'd')
  union select y.oid from brought b join pg_catalog.pg_type y on y.oid = b.objid
    where b.classid = 'pg_catalog.pg_type'::regclass and y.typtype = 'b' and y.typowner in (select oid from trusted)
),
plain as materialized (
  select oid from plain_type
  union select y.typarray from plain_type p join pg_catalog.pg_type y on y.oid = p.oid
),
of_functions as materialized (
  select oid from pg_catalog.pg_type where oid < 16384 and typnamespace = 'pg_catalog'::regnamespace
    and typname = any(${list(TYPES_OF_FUNCTIONS)})
),
-- What operators and casts of plain types call.
behind as materialized (
  select o.oprcode::oid as oid from pg_catalog.pg_operator o
  where o.oid < 16384 or exists (select from brought b where b.classid = 'pg_catalog.pg_operator'::regclass and b.objid = o.oid)
    and o.oprowner in (select oid from trusted)
  union
  select c.castfunc from pg_catalog.pg_cast c
  where c.castfunc <> 0 and (c.oid < 16384 or exists (
    select from brought b where b.classid = 'pg_catalog.pg_cast'::regclass and b.objid = c.oid))
),
tree as (
  select 'default' as kind, d.adbin::text as nodes from relation r join pg_catalog.pg_attrdef d on d.adrelid = r.oid
  union all select 'check', k.conbin::text from relation r join pg_catalog.pg_constraint k on k.conrelid = r.oid
  union all select 'domain', k.conbin::text from own_type y join pg_catalog.pg_constraint k on k.contypid = y.oid
  union all select 'domain', y.typdefaultbin::text from own_type y
  union all select 'index', i.indexprs::text from relation r join pg_catalog.pg_index i on i.indrelid = r.oid
  union all select 'index', i.indpred::text from relation r join pg_catalog.pg_index i on i.indrelid = r.oid
  union all select 'partition', r.relpartbound::text from relation r
),
field as materialized (
  select distinct t.kind, f.text from tree t, string_to_table(t.nodes, ' :') f(text)
  where (select sum(octet_length(nodes)) from tree) <= ${MAX_NODES_BYTES}
),
part as materialized (
  select distinct f.kind, substring(f.text, '\\{([A-Z]+)') as node, m[1] as field, m[2]::oid as oid
  from field f left join regexp_match(f.text, '^(funcid|opfuncid|opno|[a-z]*type|[a-z]+_typeid|typeId) ([0-9]+)') m on true
),
called as (
  select kind, oid from part where field in ('funcid', 'opfuncid')
  union select p.kind, o.oprcode::oid from part p join pg_catalog.pg_operator o on o.oid = p.oid where p.field = 'opno'
)
select 'adopted schema' as kind from rowpost.tenant t where t.schema = $1 and t.adopted
union all
select 'expression' from tree having sum(octet_length(nodes)) > ${MAX_NODES_BYTES}
union all
select case m.classid when 'pg_catalog.pg_proc'::regclass then 'function' when 'pg_catalog.pg_operator'::regclass then 'operator'
  else replace(m.classid::regclass::text, 'pg_', '') end
from member m where m.classid not in ('pg_catalog.pg_class'::regclass, 'pg_catalog.pg_type'::regclass)
  -- Of a table, by its name.
  and not (m.classid = 'pg_catalog.pg_constraint'::regclass and exists (
    select from pg_catalog.pg_constraint k where k.oid = m.objid and k.contype <> 't'))
union all
select case r.relkind when 'v' then 'view' when 'm' then 'materialized view' when 'f' then 'foreign table' else 'composite type' end
from relation r where r.relkind not in ('r', 'p', 'S', 'i', 'I')
union all
select 'type' from own_type y where y.typtype not in ('e', 'd') and y.oid not in (select y2.typarray from own_type y2)
union all
select 'owner' from (select nspowner as oid from space union select relowner from relation union select typowner from own_type) o
where o.oid not in (select oid from trusted) and o.oid is distinct from (select oid from pg_catalog.pg_roles where rolname = $3)
union all
select 'grant' from relation r, aclexplode(r.relacl) a
where a.grantee <> r.relowner and a.privilege_type in ('REFERENCES', 'TRIGGER')
union all
select 'grant' from relation r join pg_catalog.pg_attribute t on t.attrelid = r.oid, aclexplode(t.attacl) a
where a.grantee <> r.relowner and a.privilege_type = 'REFERENCES'
union all
select 'grant' from pg_catalog.pg_namespace n, aclexplode(n.nspacl) a
where n.nspname = $1 and a.privilege_type = 'CREATE' and a.grantee <> n.nspowner and a.grantee not in (select oid from trusted)
union all
select 'member' from pg_catalog.pg_auth_members m where m.roleid = (select oid from pg_catalog.pg_roles where rolname = $3)
  and m.member not in (select oid from trusted) and m.member is distinct from (select oid from pg_catalog.pg_roles where rolname = $2)
union all
select 'trigger' from relation r join pg_catalog.pg_trigger t on t.tgrelid = r.oid
where not t.tgisinternal and (t.tgqual is not null or t.tgfoid <> 'rowpost.capture_rows'::regproc)
union all
select 'rule' from relation r join pg_catalog.pg_rewrite w on w.ev_class = r.oid
union all
-- Wherever it is: statistics may be in another schema, and the planner evaluates what is constant in their expressions.
select replace(d.classid::regclass::text, 'pg_', '')
from relation r join pg_catalog.pg_depend d on d.refclassid = 'pg_catalog.pg_class'::regclass and d.refobjid = r.oid
where d.classid::regclass::text <> all(${list(DEPENDENTS)})
union all
select 'policy' from relation r join pg_catalog.pg_policy p on p.polrelid = r.oid
union all
select 'foreign key' from relation r join pg_catalog.pg_constraint k on k.conrelid = r.oid
where k.confrelid <> 0 and k.confrelid not in (select oid from relation)
union all
select 'foreign key' from relation r
  join pg_catalog.pg_depend d on d.refclassid = 'pg_catalog.pg_class'::regclass and d.refobjid = r.oid
    and d.classid = 'pg_catalog.pg_constraint'::regclass
  join pg_catalog.pg_constraint k on k.oid = d.objid
where k.conrelid not in (select oid from relation)
union all
select 'inheritance' from relation r join pg_catalog.pg_inherits i on i.inhrelid = r.oid
where i.inhparent not in (select oid from relation)
union all
select 'inheritance' from relation r join pg_catalog.pg_inherits i on i.inhparent = r.oid
where i.inhrelid not in (select oid from relation)
union all
select 'partition' from relation r join pg_catalog.pg_partitioned_table p on p.partrelid = r.oid where p.partexprs is not null
union all
select 'cast' from (select oid from own_type union select typarray from own_type
    union select reltype from relation union select y.typarray from relation r join pg_catalog.pg_type y on y.oid = r.reltype) y
  join pg_catalog.pg_cast c on y.oid in (c.castsource, c.casttarget)
union all
select 'type' from own_type y where y.typtype = 'd' and y.typbasetype not in (select oid from plain)
union all
select 'type' from relation r join pg_catalog.pg_attribute t on t.attrelid = r.oid
where r.relkind in ('r', 'p') and t.attnum > 0 and not t.attisdropped and t.atttypid not in (select oid from plain)
union all
select kind from part where node <> all(${list(NODES)})
union all
select kind from part where field like '%type%' and field not in ('booltesttype', 'nulltesttype', 'varreturningtype') and oid <> 0
  and oid not in (select oid from plain union all select oid from of_functions)
union all
select c.kind from called c join pg_catalog.pg_proc p on p.oid = c.oid
where p.prokind <> 'f' or p.proretset or not case
    when p.oid < 16384 then p.pronamespace = 'pg_catalog'::regnamespace
      and (p.proname = any(${list(FUNCTIONS)}) or p.provolatile <> 'v' and p.oid in (select oid from behind))
    else p.prolang = (select oid from pg_catalog.pg_language where lanname = 'c') and p.proowner in (select oid from trusted)
      and exists (select from brought b where b.classid = 'pg_catalog.pg_proc'::regclass and b.objid = p.oid)
      and (p.proname = any(${list(FUNCTIONS_OF_EXTENSIONS)}) or p.provolatile <> 'v' and p.oid in (select oid from behind)) end
  or exists (select from unnest(p.proargtypes::oid[] || p.prorettype) t(oid)
    where t.oid not in (select oid from plain union all select oid from of_functions))
limit 1`;

/** Identifies the list, which may differ in another release. */
export const PLAIN_SCHEMA_VERSION = createHash('sha256').update(PLAIN_SQL).digest('hex').slice(0, 16);
