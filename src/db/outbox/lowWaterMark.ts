import { sql } from '../sql/sql.js';

/**
 * CTE `low_water(mark, from_batchid)`: every batch below `from_batchid` is done. `mark` is the recorded low-water mark; one
 * above all batches is ignored. Read from the database each time: a mark cached in a process would outlive a database that
 * goes back in time, and hide later batches.
 */
export const LOW_WATER_SQL = sql`
  low_water as materialized (
    select m.batchid as mark, case when m.batchid <= (select max(b.batchid) from rowpost.relay_batch b)
      then m.batchid else 0 end as from_batchid
    from (select coalesce((select m.batchid from rowpost.relay_batch_mark m order by m.markid desc limit 1), 0) as batchid) m
  )`;

/** SQL: batch `b` is not done. A scalar subquery, as in `NOT_ENDED`. */
export const NOT_DONE = sql`(select d.batchid from rowpost.relay_batch_done d
  where d.batchid = b.batchid and d.createtime = b.createtime) is null`;

/** SQL: batch `b` is not done; reads `low_water`. */
export const IS_OPEN = sql`b.batchid >= (select from_batchid from low_water) and ${NOT_DONE}`;
