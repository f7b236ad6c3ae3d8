import { coversSql, EVENTS_OF_BATCH } from '../outbox/batchEventsSql.js';
import { isMovedSql } from './isMovedSql.js';
import { loopGuardSql } from './loopGuardSql.js';
import { loadedColumns, tenantJoins } from './loadDeliveries.js';
import { QUEUE_AHEAD_SECONDS, rateLimitSlotsSql } from './rateLimitSlots.js';
import { sql, toText, type Sql } from '../sql/sql.js';

/** Of a delivery's copy of its event's key; more than PostgreSQL's indexes take, and so any key of a row that does not compress. */
const MAX_KEY_BYTES = 8_192;
/** Seconds after its rate limit slot at which a delivery is checked to be in the queue. */
const CHECK_SECONDS = 5;

// The steps, each a CTE that the next one reads: the batch → its events → what its rules match (`found`) → done, by this worker alone
// (`matched`) → loops (`guarded`) → rate limit slots (`scheduled`) → the deliveries (`recorded`), which come with all that
// is needed to send them if they are few (`loaded`).
//
// One statement, because no other worker may see a batch that is done without its deliveries, and because at low load
// round trips are most of the cost. Commits asynchronously: a crash loses the deliveries together with the batch's done
// mark. No email can leave before this is durable, because `startSending` commits synchronously and the WAL is flushed in
// order.
//
// Parameters: batch id, time and tenant, max firings per minute, max emails per second, max preloaded deliveries.
// `matches` joins to batch `b` rows of `event` as `o`, rules `r`, and `m`: `code` and `message` where nothing can be sent. `mayClose`
// says, given the matches, whether this statement may close the batch.
const closeSql = (matches: Sql, mayClose: Sql): Sql => sql`
    with batch as materialized (
      select *, set_config('synchronous_commit', 'off', true)
      from rowpost.relay_batch where batchid = $1::bigint and createtime = $2::timestamptz and tenantid = $3::int
    ), event as materialized (
      -- A key of an event that a tenant's code wrote may have a megabyte: it is hashed once, and not copied for each of a thousand rules.
      select o.tenantid, o.eventid, o.operation, o.target, o.time, o.old, o.new, o.file, o.traceparent,
        case when octet_length(o.key::text) <= ${MAX_KEY_BYTES} then o.key else '{}' end as key,
        hashtextextended(o.target || ' ' || o.key::text, 0) as record
      from batch b join rowpost.outbox o on ${EVENTS_OF_BATCH} and o.eventid = any (b.eventids)
    ), found as materialized (
      select row_number() over (order by o.eventid, r.ruleid) as position, o.tenantid, o.eventid, o.operation, o.target,
        o.key, o.time, o.old, o.new, o.file, o.traceparent, o.record, r.ruleid, r.email_type, r.condition, r.delivery, r.query_roleid,
        m.code, m.message
      from batch b ${matches}
    ), done as (
      insert into rowpost.relay_batch_done (batchid, createtime) select batchid, createtime from batch
      where ${mayClose} and not ${isMovedSql(sql`batch`)}
      on conflict do nothing
      returning batchid
    ), matched as materialized (
      select position, tenantid, eventid, operation, target, key, time, ruleid, email_type, delivery, code, message,
        date_trunc('minute', time) as minute, record
      from found where exists (select from done)
    ), ${loopGuardSql(sql`$4::int`)}, ${rateLimitSlotsSql(sql`$5::int`)}, recorded as (
      insert into rowpost.delivery (tenantid, eventid, ruleid, email_type, operation, target, key, delivery,
        createtime, state, error_code, error, next_attempt, due, tracked)
      select tenantid, eventid, ruleid, email_type, operation, target, key, delivery, time,
        case when code is not null then 'failed' when trips then 'skipped' else 'pending' end,
        case when trips then 'LOOP_TRIPPED' else code end,
        case when trips then 'the rule fired more than ' || $4::int
          || ' times within a minute for this record; it goes on with the next minute' else message end,
        slot, case when slot > now() + interval '${QUEUE_AHEAD_SECONDS} seconds' then slot - interval '${QUEUE_AHEAD_SECONDS} seconds'
          when slot > now() then slot + interval '${CHECK_SECONDS} seconds' end,
        code is not null or trips or coalesce(slot > now(), false)
      from scheduled order by position
      on conflict (eventid, ruleid, createtime) do nothing
      returning tenantid, deliveryid, createtime, state, eventid, ruleid, email_type, operation, target, delivery,
        tracked, attempts, starts, lost, next_attempt
    ), loaded as materialized (
      select tenantid, eventid, ruleid, query_roleid, old, new, file, traceparent from found
      where (select count(*) from found) <= $6::int
    )
    select d.state,
      coalesce(greatest(ceil(extract(epoch from d.next_attempt - now()) * 1000), 0), 0)::float8 as "delayMs",
      ${loadedColumns(sql`l`, sql`l.query_roleid`)}
    from recorded d left join loaded l on l.eventid = d.eventid and l.ruleid = d.ruleid
      ${tenantJoins(sql`l.tenantid`)}
    where d.state in ('pending', 'skipped') order by d.deliveryid`;

/** Records the matches given as arrays of event id, rule id, failure code and failure message. */
export const CLOSE = {
  name: 'batch_close',
  text: toText(
    closeSql(
      sql`
        cross join unnest($7::bigint[], $8::bigint[], $9::text[], $10::text[]) as m(eventid, ruleid, code, message)
        join event o on o.eventid = m.eventid
        join rowpost.email_rule r on r.ruleid = m.ruleid and r.tenantid = b.tenantid`,
      sql`true`,
    ),
  ),
};

/** Records what the rules match, provided that no applicable rule has a condition. */
export const CLOSE_PLAIN = {
  name: 'batch_close_plain',
  text: toText(
    closeSql(
      sql`
        join rowpost.tenant t on t.tenantid = b.tenantid and t.schema is not null
        cross join event o
        join rowpost.email_rule r on ${coversSql(sql`o`)}
        cross join (values (null::text, null::text)) as m(code, message)`,
      sql`not exists (select from found where condition is not null)`,
    ),
  ),
};
