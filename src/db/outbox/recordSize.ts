import { sql, type Sql } from '../sql/sql.js';

/** Largest row, before or after a change, that a worker loads. */
export const MAX_RECORD_BYTES = 8_388_608;
/** Of one event, with the row before and after. */
export const MAX_EVENT_BYTES = 2 * MAX_RECORD_BYTES;

/** Largest row that is loaded with its event or delivery: a worker holds hundreds of them. Larger ones are loaded one by one. */
const MAX_QUICK_BYTES = 65_536;
/** Of the rows of events that are loaded together. */
const MAX_TOGETHER_BYTES = 2_097_152;

/** Upper bound of PostgreSQL's compression ratio (pglz and lz4). */
const MAX_COMPRESSION_RATIO = 300;

/** SQL: whether a json column is over this size. A value is decompressed for that only where it may be. */
const isOverSql = (json: Sql, bytes: number): Sql =>
  sql`coalesce(pg_column_size(${json}) > ${Math.floor(bytes / MAX_COMPRESSION_RATIO)}
    and case when pg_column_compression(${json}) is null then pg_column_size(${json})
      else octet_length(${json}::text) end > ${bytes}, false)`;

/** SQL: whether a json column is over the size limit. */
const isTooLargeSql = (json: Sql): Sql => isOverSql(json, MAX_RECORD_BYTES);

const isQuickSql = (json: Sql): Sql => sql`not ${isOverSql(json, MAX_QUICK_BYTES)}`;

/** SQL: a json column as text; null where it is over the size limit. */
const recordTextSql = (json: Sql): Sql =>
  sql`(case when ${isTooLargeSql(json)} then null else ${json}::text end)`;

/** SQL: the columns `old`, `new` and `isTooLarge` of an event. */
export const recordColumnsSql = (event: Sql): Sql =>
  sql`${recordTextSql(sql`${event}.old`)} as old, ${recordTextSql(sql`${event}.new`)} as new,
    ${isTooLargeSql(sql`${event}.old`)} or ${isTooLargeSql(sql`${event}.new`)} as "isTooLarge"`;

/** SQL: the same, but a row that is not quick to load is null, and `recordBytes` is the size of both; otherwise it is 0. */
export const quickRecordColumnsSql = (event: Sql): Sql =>
  sql`case when ${isQuickSql(sql`${event}.old`)} then ${event}.old::text end as old,
    case when ${isQuickSql(sql`${event}.new`)} then ${event}.new::text end as new,
    ${isTooLargeSql(sql`${event}.old`)} or ${isTooLargeSql(sql`${event}.new`)} as "isTooLarge",
    case when ${isTooLargeSql(sql`${event}.old`)} or ${isTooLargeSql(sql`${event}.new`)}
        or (${isQuickSql(sql`${event}.old`)} and ${isQuickSql(sql`${event}.new`)}) then 0
      else coalesce(octet_length(${event}.old::text), 0) + coalesce(octet_length(${event}.new::text), 0) end as "recordBytes"`;

/**
 * SQL: the longest prefix of events with their records that fits the memory budget, at least one.
 * @param events selects `position` and `recordColumnsSql`
 */
export const fittingSql = (columns: Sql, events: Sql, maxBytes = MAX_TOGETHER_BYTES): Sql => sql`
  select ${columns} from (
    select *, sum(coalesce(octet_length(old), 0) + coalesce(octet_length(new), 0)) over (order by position) as bytes,
      row_number() over (order by position) as number
    from (${events}) event
  ) sized
  where bytes <= ${maxBytes} or number = 1 order by position`;

export const RECORD_TOO_LARGE = `a row of more than ${MAX_RECORD_BYTES / 1_048_576} MiB can't be emailed about`;
