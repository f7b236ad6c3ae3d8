import type { Pool } from 'pg';
import { readComposites, type RawComposites } from './composites.js';
import { statementName } from '../pool/preparedStatements.js';
import { TYPE_JOINS, TYPE_JSON } from './typeSql.js';
import { sql, statement } from '../sql/sql.js';
import type { RawType } from './types.js';

/** A schema's tables as described by pg_catalog. */
export interface RawSchema {
  readonly tables: readonly RawTable[];
  readonly composites: RawComposites;
  /** Also kept as text: equal texts mean equal schemas. */
  readonly text: string;
}

export interface RawTable {
  readonly name: string;
  /** pg_class.relkind: r table, p partitioned, f foreign, v view, m materialized view. */
  readonly kind: string;
  readonly columns: readonly RawColumn[];
  /** Names of the columns that the tenant's role may not read, although it may read others. They are nowhere else. */
  readonly hidden: readonly string[];
  readonly keys: readonly RawKey[];
  readonly foreignKeys: readonly RawForeignKey[];
  /** Names of foreign keys to tables that are not served, e.g. in another schema. */
  readonly foreignKeysElsewhere: readonly string[];
  /** Names of foreign keys with a period, which a row of the period's every part satisfies together with others. */
  readonly temporalForeignKeys: readonly string[];
  /** Checks and foreign keys, with their columns. */
  readonly constraints: readonly RawConstraint[];
  /** For a file table. */
  readonly fileColumn: string | null;
}

export interface RawColumn {
  readonly name: string;
  readonly notNull: boolean;
  readonly hasDefault: boolean;
  /** Identity `always` or a generated column. */
  readonly generated: boolean;
  /** First column of a btree or hash index over all rows. */
  readonly indexed: boolean;
  readonly type: RawType;
}

/** Primary key, or a unique constraint or index that `on conflict` can name. */
export interface RawKey {
  readonly primary: boolean;
  readonly columns: readonly string[];
  readonly nullsNotDistinct: boolean;
}

export interface RawConstraint {
  readonly name: string;
  readonly columns: readonly string[];
}

export interface RawForeignKey {
  readonly name: string;
  readonly columns: readonly string[];
  /** A table of the same schema. */
  readonly target: string;
  readonly targetColumns: readonly string[];
}

/**
 * Reads a schema in one statement, and one more if columns have row types. Throws what pg throws.
 * @param role the tenant's; by default all columns are read
 */
export async function readSchema(pool: Pool, schema: string, role: string | null = null): Promise<RawSchema> {
  const result = await pool.query<{ tables: string }>({
    // Prepared, because planning takes longer than execution.
    name: statementName(INTROSPECTION_SQL),
    text: INTROSPECTION_SQL,
    values: [schema, role],
  });
  const text = result.rows[0]?.tables ?? '[]';
  const tables = JSON.parse(text) as RawTable[];
  const types = tables.flatMap(({ columns }) => columns.filter(({ type }) => type.typtype === 'c'));
  if (types.length === 0) return { tables, composites: {}, text };
  const composites = await readComposites(pool, [...new Set(types.map(({ type }) => type.sqlType))]);
  return { tables, composites: JSON.parse(composites) as RawComposites, text: text + composites };
}

const READABLE = sql`(r.whole or has_column_privilege(r.reader, r.oid, a.attnum, 'select'))`;

/** `is true` keeps it a hash. As a join, PostgreSQL goes through all tables for each table: 3 s for a thousand. */
const SERVED = sql`(k.confrelid in (select oid from relation))`;

/** A key `without overlaps` is in a GiST index. */
const TEMPORAL = sql`exists (select from pg_catalog.pg_class ic join pg_catalog.pg_am am on am.oid = ic.relam
          where ic.oid = k.conindid and am.amname = 'gist')`;

/*
 * Uses pg_catalog, by dependencies on the schema and then by table oid: a few milliseconds however many tables there
 * are, where information_schema takes seconds. Each sub-select uses an index of its catalog. pg_class has no index on
 * relnamespace: going through pg_depend costs 0.1 ms, a scan by relnamespace 7 ms among 12,000 tables.
 */
const INTROSPECTION_SQL = statement`
with relation as materialized (
  select c.oid, c.relname, c.relkind, reader.oid as reader,
    -- A table that the role may not read at all stays whole: the error of a query says what its owner has to grant.
    coalesce(has_table_privilege(reader.oid, c.oid, 'select') or not has_any_column_privilege(reader.oid, c.oid, 'select'), true) as whole
  from pg_catalog.pg_class c, (select to_regrole(quote_ident($2))::oid as oid) reader
  where c.oid in (select d.objid from pg_catalog.pg_depend d
    where d.refclassid = 'pg_catalog.pg_namespace'::regclass
      and d.refobjid = (select oid from pg_catalog.pg_namespace where nspname = $1)
      and d.classid = 'pg_catalog.pg_class'::regclass)
    and c.relkind in ('r', 'p', 'f', 'v', 'm') and not c.relispartition
    -- what extensions bring
    and not exists (select from pg_catalog.pg_depend e
      where e.classid = 'pg_catalog.pg_class'::regclass and e.objid = c.oid and e.deptype = 'e')
)
select coalesce(json_agg(json_build_object(
    'name', r.relname,
    'kind', r.relkind,
    'columns', (select coalesce(json_agg(json_build_object(
        'name', a.attname,
        'notNull', a.attnotnull,
        'hasDefault', a.atthasdef or a.attidentity <> '',
        'generated', a.attidentity = 'a' or a.attgenerated <> '',
        'indexed', exists (select from pg_catalog.pg_index i join pg_catalog.pg_class ic on ic.oid = i.indexrelid
            join pg_catalog.pg_am am on am.oid = ic.relam
          where i.indrelid = r.oid and i.indkey[0] = a.attnum and i.indisvalid and i.indpred is null
            and am.amname in ('btree', 'hash')),
        'type', ${TYPE_JSON}
      ) order by a.attnum), '[]')
      from pg_catalog.pg_attribute a
        ${TYPE_JOINS}
      where a.attrelid = r.oid and a.attnum > 0 and not a.attisdropped and ${READABLE}),
    'hidden', (select coalesce(json_agg(a.attname order by a.attnum), '[]') from pg_catalog.pg_attribute a
      where not r.whole and a.attrelid = r.oid and a.attnum > 0 and not a.attisdropped and not ${READABLE}),
    'keys', (select coalesce(json_agg(json_build_object(
        'primary', i.indisprimary,
        'nullsNotDistinct', i.indnullsnotdistinct,
        'columns', (select json_agg(a.attname order by o.n) from unnest(i.indkey::int2[]) with ordinality o(attnum, n)
          join pg_catalog.pg_attribute a on a.attrelid = i.indrelid and a.attnum = o.attnum where o.n <= i.indnkeyatts)
      ) order by not i.indisprimary, x.relname), '[]')
      from pg_catalog.pg_index i join pg_catalog.pg_class x on x.oid = i.indexrelid
      where i.indrelid = r.oid and i.indisunique and (i.indisprimary
        or i.indisvalid and i.indimmediate and i.indpred is null and i.indexprs is null and not i.indisexclusion)),
    'foreignKeys', (select coalesce(json_agg(json_build_object(
        'name', k.conname,
        'target', target.relname,
        'columns', (select json_agg(a.attname order by o.n) from unnest(k.conkey) with ordinality o(attnum, n)
          join pg_catalog.pg_attribute a on a.attrelid = k.conrelid and a.attnum = o.attnum),
        'targetColumns', (select json_agg(a.attname order by o.n) from unnest(k.confkey) with ordinality o(attnum, n)
          join pg_catalog.pg_attribute a on a.attrelid = k.confrelid and a.attnum = o.attnum)
      ) order by k.conname), '[]')
      from pg_catalog.pg_constraint k join pg_catalog.pg_class target on target.oid = k.confrelid
      where k.conrelid = r.oid and k.contype = 'f' and k.conparentid = 0 and ${SERVED} is true and not ${TEMPORAL}),
    'foreignKeysElsewhere', (select coalesce(json_agg(k.conname order by k.conname), '[]')
      from pg_catalog.pg_constraint k
      where k.conrelid = r.oid and k.contype = 'f' and k.conparentid = 0 and ${SERVED} is not true),
    'temporalForeignKeys', (select coalesce(json_agg(k.conname order by k.conname), '[]')
      from pg_catalog.pg_constraint k
      where k.conrelid = r.oid and k.contype = 'f' and k.conparentid = 0 and ${SERVED} is true and ${TEMPORAL}),
    'constraints', (select coalesce(json_agg(json_build_object(
        'name', k.conname,
        'columns', (select json_agg(a.attname order by o.n) from unnest(k.conkey) with ordinality o(attnum, n)
          join pg_catalog.pg_attribute a on a.attrelid = k.conrelid and a.attnum = o.attnum)
      ) order by k.conname), '[]')
      from pg_catalog.pg_constraint k where k.conrelid = r.oid and k.contype in ('c', 'f') and k.conkey <> '{}'),
    'fileColumn', (select f.column_name from rowpost.file_table f join rowpost.tenant t using (tenantid)
      where t.schema = $1 and f.table_name = r.relname)
  ) order by r.relname), '[]')::text as tables
from relation r`;
