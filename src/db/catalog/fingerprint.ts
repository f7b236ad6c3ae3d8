import type { Pool } from 'pg';

/**
 * A text that changes with every change to the schema's tables, columns, constraints and enums, and of which are file tables: it sums the ids of the
 * transactions that last wrote their catalog rows. Below a millisecond for 30 tables.
 */
export async function readFingerprint(pool: Pool, schema: string): Promise<string> {
  const { rows } = await pool.query<{ fingerprint: string }>({
    name: 'rowpost_fingerprint',
    text: FINGERPRINT_SQL,
    values: [schema],
  });
  return rows[0]?.fingerprint ?? '';
}

const FINGERPRINT_SQL = `
with namespace as materialized (select oid from pg_catalog.pg_namespace where nspname = $1),
relation as materialized (
  select c.oid, c.xmin, c.reltype from pg_catalog.pg_class c
  where c.relnamespace = (select oid from namespace) and c.relkind in ('r', 'p', 'f', 'v', 'm')
),
written as (
  select xmin, oid from relation
  union all select a.xmin, a.attrelid from relation r join pg_catalog.pg_attribute a on a.attrelid = r.oid and a.attnum > 0
  union all select k.xmin, k.oid from relation r join pg_catalog.pg_constraint k on k.conrelid = r.oid
  union all select l.xmin, l.oid from pg_catalog.pg_type t join pg_catalog.pg_enum l on l.enumtypid = t.oid
    where t.typnamespace = (select oid from namespace) and t.typtype = 'e'
  union all select f.xmin, 0 from rowpost.file_table f join rowpost.tenant n using (tenantid) where n.schema = $1
)
select count(*) || '.' || coalesce(sum(xmin::text::bigint), 0) || '.' || coalesce(sum(oid::bigint), 0) as fingerprint from written`;
