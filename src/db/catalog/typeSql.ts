import type { Pool } from 'pg';
import type { Column, ColumnType } from './catalog.js';
import { sql, statement, type Sql } from '../sql/sql.js';
import { columnType, type RawType } from './types.js';

/** The type below all domains. For other types nothing is read. */
function baseType(type: Sql): Sql {
  return sql`case when ${type}.typtype <> 'd' then ${type}.oid else (
          with recursive below(oid) as (select ${type}.typbasetype union select p.typbasetype
            from below join pg_catalog.pg_type p using (oid) where p.typtype = 'd')
          select oid from below join pg_catalog.pg_type p using (oid) where p.typtype <> 'd') end`;
}

/** The schema of a type's `=`, as its indexes use it. PostgreSQL's own covers enums, ranges and composite types. */
function operatorsOf(type: Sql): Sql {
  return sql`(select nullif(pn.nspname, 'pg_catalog') from pg_catalog.pg_opclass oc join pg_catalog.pg_am am on am.oid = oc.opcmethod
          join pg_catalog.pg_amop ao on ao.amopfamily = oc.opcfamily and ao.amoplefttype = oc.opcintype
            and ao.amoprighttype = oc.opcintype and ao.amopstrategy = case am.amname when 'btree' then 3 else 1 end
          join pg_catalog.pg_operator p on p.oid = ao.amopopr and p.oprname = '='
          join pg_catalog.pg_namespace pn on pn.oid = p.oprnamespace
        where ${type}.typtype = 'b' and ${type}.typnamespace <> 'pg_catalog'::regnamespace
          and oc.opcintype = ${type}.oid and oc.opcdefault and am.amname in ('btree', 'hash') order by am.amname limit 1)`;
}

/** The type of a column `a`, a row of pg_attribute, as a RawType. */
export const TYPE_JSON = sql`json_build_object(
          'name', e.typname,
          'sqlType', case when en.nspname = 'pg_catalog' then quote_ident(e.typname)
            else '"' || replace(en.nspname, '"', '""') || '"."' || replace(e.typname, '"', '""') || '"' end,
          'typtype', e.typtype,
          'array', l.oid is not null,
          'ofDomain', i.oid <> b.oid and i.typtype = 'd',
          'domain', case when t.typtype = 'd' then t.typname when i.typtype = 'd' then i.typname end,
          'dimensions', case when t.typtype = 'd' then t.typndims else a.attndims end,
          'operators', ${operatorsOf(sql`e`)},
          'castsToJson', e.oid >= 16384 and exists (select from pg_catalog.pg_cast jc
            where jc.castsource = e.oid and jc.casttarget = 'pg_catalog.json'::regtype),
          'modifier', case when t.typtype = 'd' then t.typtypmod else a.atttypmod end,
          'enumLabels', (select json_agg(l.enumlabel order by l.enumsortorder)
            from pg_catalog.pg_enum l where l.enumtypid = e.oid and e.typtype = 'e'))`;

/** What TYPE_JSON reads. */
export const TYPE_JOINS = sql`join pg_catalog.pg_type t on t.oid = a.atttypid
        -- a domain counts as its base type, an array as its element, of domains too; not int2vector, nor lists of lists
        join pg_catalog.pg_type b on b.oid = ${baseType(sql`t`)}
        left join pg_catalog.pg_type l on l.oid = b.typelem and l.typarray = b.oid
          and not exists (select from pg_catalog.pg_type d where d.oid = ${baseType(sql`l`)} and d.typcategory = 'A')
        join pg_catalog.pg_type i on i.oid = coalesce(l.oid, b.oid)
        join pg_catalog.pg_type e on e.oid = ${baseType(sql`i`)}
        join pg_catalog.pg_namespace en on en.oid = e.typnamespace`;

/** The types of a table's columns by name; empty if there is no such table. Throws what pg throws. */
export async function readColumnTypes(
  pool: Pool,
  table: string,
): Promise<ReadonlyMap<Column['sqlName'], ColumnType>> {
  const { rows } = await pool.query<{ name: string; type: RawType }>(
    statement`select a.attname as name, ${TYPE_JSON} as type from pg_catalog.pg_attribute a
        ${TYPE_JOINS}
      where a.attrelid = to_regclass($1) and a.attnum > 0 and not a.attisdropped`,
    [table],
  );
  return new Map(rows.map(({ name, type }) => [name, columnType(type)]));
}
