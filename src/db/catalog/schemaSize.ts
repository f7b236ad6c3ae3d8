import type { Pool } from 'pg';
import { AppError } from '../../foundation/errors.js';

/**
 * Maximum size of a tenant's schema: columns, enum labels, constraint columns and view code together. Every process keeps
 * it in memory and reads it in one piece, on the event loop that serves the other tenants.
 */
const MAX_SCHEMA_PARTS = 100_000;

/** Bytes of a view's stored tree that count as one part: searching them for code takes as long as reading a column. */
const VIEW_BYTES = 160;

/** Throws AppError SCHEMA_TOO_LARGE before the schema is read, or what pg throws. */
export async function checkSchemaSize(pool: Pool, schema: string): Promise<void> {
  const { rows } = await pool.query<{ parts: string }>(SIZE_SQL, [schema]);
  if (Number(rows[0]?.parts ?? 0) <= MAX_SCHEMA_PARTS) return;
  throw schemaTooLarge(schema);
}

export function schemaTooLarge(schema: string): AppError {
  return new AppError('SCHEMA_TOO_LARGE', `The schema "${schema}" is too large to be served.`);
}

const SIZE_SQL = `
with member as materialized (
  select c.oid from pg_catalog.pg_depend d join pg_catalog.pg_class c on c.oid = d.objid
  where d.refclassid = 'pg_catalog.pg_namespace'::regclass
    and d.refobjid = (select oid from pg_catalog.pg_namespace where nspname = $1)
    and d.classid = 'pg_catalog.pg_class'::regclass and c.relkind in ('r', 'p', 'f', 'v', 'm')
),
attribute as materialized (
  select a.atttypid from member m join pg_catalog.pg_attribute a on a.attrelid = m.oid and a.attnum > 0
  limit ${MAX_SCHEMA_PARTS + 1}
),
used as (
  select coalesce(nullif(b.typelem, 0), b.oid) as type, count(*) as columns from attribute a
    join pg_catalog.pg_type t on t.oid = a.atttypid
    join pg_catalog.pg_type b on b.oid = case when t.typtype = 'd' then t.typbasetype else t.oid end
  group by 1
)
select (select count(*) from attribute)
  + (select coalesce(sum(u.columns * (select count(*) from pg_catalog.pg_enum e where e.enumtypid = u.type)), 0) from used u)
  + (select coalesce(sum(cardinality(k.conkey) + coalesce(cardinality(k.confkey), 0)), 0)
      from member m join pg_catalog.pg_constraint k on k.conrelid = m.oid)
  + (select coalesce(sum(pg_column_size(w.ev_action) / ${VIEW_BYTES}), 0)
      from member m join pg_catalog.pg_rewrite w on w.ev_class = m.oid) as parts`;
