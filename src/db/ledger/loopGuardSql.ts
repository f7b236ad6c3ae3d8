import { sql, type Sql } from '../sql/sql.js';

/**
 * CTE `guarded`: the rows of `matched` with `trips`, true for those of a rule that has fired more than `max` times for one
 * record within a minute. `matched` has position, ruleid, code, minute and record; rows with a code send nothing and are not
 * counted. Zero means no limit.
 *
 * Counts by the minute of the change, so draining a backlog quickly trips nothing. Concurrent workers lock the counters
 * in one order.
 * @param max SQL: an integer
 */
export const loopGuardSql = (max: Sql): Sql => sql`
    fired as materialized (
      select minute, ruleid, record, count(*)::int as fires from matched
      where code is null and ${max} > 0 group by minute, ruleid, record
    ), counted as (
      insert into rowpost.rule_firing as c (createtime, ruleid, record, fired, tripped)
      select minute, ruleid, record, fires, fires > ${max} from fired order by minute, ruleid, record
      on conflict (createtime, ruleid, record) do update
      set fired = c.fired + excluded.fired, tripped = c.fired + excluded.fired > ${max}
      returning createtime as minute, ruleid, record, fired
    ), tripped as materialized (
      select minute, ruleid, record, ${max} - c.fired + f.fires as allowed
      from counted c join fired f using (minute, ruleid, record) where c.fired > ${max}
    ), guarded as materialized (
      select m.*, t.ruleid is not null and m.code is null and t.allowed <
          row_number() over (partition by m.minute, m.ruleid, m.record, m.code is null order by m.position) as trips
      from matched m left join tripped t using (minute, ruleid, record)
    )`;
