import type { Pool } from 'pg';
import { sql, statement } from '../sql/sql.js';
import type { CompositeFields } from './catalog.js';
import { TYPE_JOINS, TYPE_JSON } from './typeSql.js';
import { columnType, type RawType } from './types.js';

/** The fields of row types, by the type as SQL writes it. */
export type RawComposites = Readonly<
  Record<string, readonly { readonly name: string; readonly type: RawType }[]>
>;

/** As many as a schema may have columns; if there are more, those of no type are known. */
const MAX_FIELDS = 100_000;

/** Reads these types and those of their fields. Throws what pg throws. */
export async function readComposites(pool: Pool, types: readonly string[]): Promise<string> {
  const { rows } = await pool.query<{ composites: string }>(COMPOSITES_SQL, [types]);
  return rows[0]?.composites ?? '{}';
}

const FIELDS = sql`pg_catalog.pg_type c join pg_catalog.pg_attribute a on a.attrelid = c.typrelid and a.attnum > 0
        and not a.attisdropped
      ${TYPE_JOINS}`;

const COMPOSITES_SQL = statement`
with recursive reached(oid) as (
  select t::regtype::oid from unnest($1::text[]) t
  union select e.oid from reached join ${FIELDS} on c.oid = reached.oid where e.typtype = 'c'
),
field as (select reached.oid, a.attname as name, a.attnum, ${TYPE_JSON} as type
    from reached join ${FIELDS} on c.oid = reached.oid limit ${MAX_FIELDS})
select coalesce(json_object_agg(type, fields order by type), '{}')::text as composites from (
  select '"' || replace(n.nspname, '"', '""') || '"."' || replace(t.typname, '"', '""') || '"' as type,
    json_agg(json_build_object('name', f.name, 'type', f.type) order by f.attnum) as fields
  from field f join pg_catalog.pg_type t on t.oid = f.oid join pg_catalog.pg_namespace n on n.oid = t.typnamespace
  group by 1) types`;

/** Looks up the fields of a type; undefined if they are not known. */
export function fieldsOfComposites(
  raw: RawComposites,
  isZoned: boolean,
): (sqlType: string) => CompositeFields | undefined {
  const known = new Map<string, CompositeFields | undefined>();
  const all = isCut(raw) ? new Map<string, never>() : new Map(Object.entries(raw));
  const fieldsOf = (sqlType: string): CompositeFields | undefined => {
    if (!known.has(sqlType)) known.set(sqlType, read(sqlType));
    return known.get(sqlType);
  };
  const read = (sqlType: string): CompositeFields | undefined => {
    const fields = all.get(sqlType);
    return fields && new Map(fields.map(({ name, type }) => [name, columnType(type, fieldsOf, isZoned)]));
  };
  return fieldsOf;
}

/** Whether fields may be missing, of any of the types. */
function isCut(raw: RawComposites): boolean {
  return Object.values(raw).reduce((sum, fields) => sum + fields.length, 0) >= MAX_FIELDS;
}
