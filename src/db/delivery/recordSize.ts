import { sql, type Sql } from '../sql.js';

/** Largest row, before or after a change, that a worker loads: it holds dozens of them at once. */
const MAX_RECORD_BYTES = 8_388_608;

/** Upper bound of PostgreSQL's compression ratio (pglz and lz4). */
const MAX_COMPRESSION_RATIO = 300;

/** SQL: whether a json column is over the size limit. Values stored small enough are not decompressed for that. */
const isTooLargeSql = (json: Sql): Sql =>
  sql`(case when pg_column_size(${json}) > ${Math.floor(MAX_RECORD_BYTES / MAX_COMPRESSION_RATIO)}
    then octet_length(${json}::text) > ${MAX_RECORD_BYTES} else false end)`;

/** SQL: a json column as text; null where it is over the size limit. */
const recordTextSql = (json: Sql): Sql =>
  sql`(case when ${isTooLargeSql(json)} then null else ${json}::text end)`;

/** SQL: the columns `old`, `new` and `isTooLarge` of an event. */
export const recordColumnsSql = (event: Sql): Sql =>
  sql`${recordTextSql(sql`${event}.old`)} as old, ${recordTextSql(sql`${event}.new`)} as new,
    ${isTooLargeSql(sql`${event}.old`)} or ${isTooLargeSql(sql`${event}.new`)} as "isTooLarge"`;

/**
 * SQL: the longest prefix of events with their records that fits the memory budget, at least one.
 * @param events selects `position` and `recordColumnsSql`
 */
export const fittingSql = (columns: Sql, events: Sql): Sql => sql`
  select ${columns} from (
    select *, sum(coalesce(octet_length(old), 0) + coalesce(octet_length(new), 0)) over (order by position) as bytes,
      row_number() over (order by position) as number
    from (${events}) event
  ) sized
  where bytes <= ${2 * MAX_RECORD_BYTES} or number = 1 order by position`;

export const RECORD_TOO_LARGE = `a row of more than ${MAX_RECORD_BYTES / 1_048_576} MiB can't be mailed about`;
