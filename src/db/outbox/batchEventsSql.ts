import { sql, statement, type Sql } from '../sql/sql.js';

/** Batch ids are assigned under the relay's lock; see `openBatches`. Waits for it, as no poll does. */
export const RELAY_LOCK = {
  name: 'relay_lock',
  text: statement`lock table rowpost.relay_lock in share update exclusive mode`,
};

/** SQL: rule `r` applies to an event, its condition aside. */
export const coversSql = (event: Sql): Sql =>
  sql`r.tenantid = ${event}.tenantid and r.enabled and ${event}.operation = any (r.operations) and ${event}.target = any (r.targets)`;

/**
 * SQL: event `o` has the tenant of batch `b`, and a time between those of its first and last event, which prunes partitions.
 * Another tenant's may have the same id, if it was carried here from another cell.
 */
export const EVENTS_OF_BATCH = sql`o.tenantid = b.tenantid and o.time between b.mintime and b.maxtime`;

/** Of a tenant, in one poll: for these, its rules are read one by one, each time. */
const FEW_EVENTS = 10;

/** SQL: one text for a tenant, an operation and a target. */
const nameSql = (tenantid: Sql, operation: Sql, target: Sql): Sql =>
  sql`concat_ws(' ', ${tenantid}, length(${operation}), ${operation}, ${target})`;

/**
 * CTE `batched`: events that some rule covers become batches of one tenant each, round-robin by tenant.
 * @param events has eventid, time, tenantid, operation and target
 * @param batchEvents SQL: maximum events per batch
 */
export const batchedSql = (events: Sql, batchEvents: Sql): Sql => sql`
    busy as materialized (
      select tenantid from ${events} group by tenantid having count(*) > ${FEW_EVENTS}
    ), wanted as materialized (
      -- Looked up in logarithmic time: a tenant may have a thousand rules with hundreds of tables each, and millions of events.
      select jsonb_object_agg(${nameSql(sql`tenantid`, sql`operation`, sql`target`)}, true) as names from (
        select distinct tenantid, operation, target from (
          select distinct r.tenantid, r.operations, target
          from busy join rowpost.email_rule r on r.tenantid = busy.tenantid
            cross join unnest(r.targets) as target
          where r.enabled
        ) tables cross join unnest(operations) as operation
      ) covering
    ), covered as (
      select e.*, (row_number() over (partition by e.tenantid order by e.eventid) - 1) / ${batchEvents} as part
      from ${events} e
      where case when e.tenantid = any (array(select tenantid from busy))
        then jsonb_exists((select names from wanted), ${nameSql(sql`e.tenantid`, sql`e.operation`, sql`e.target`)})
        else exists (select from rowpost.email_rule r where ${coversSql(sql`e`)}) end
    ), batched as (
      insert into rowpost.relay_batch (tenantid, eventids, mintime, maxtime)
      select tenantid, array_agg(eventid order by eventid), min(time), max(time)
      from covered group by part, tenantid order by part, tenantid
      returning batchid, tenantid, cardinality(eventids) as events, createtime
    )`;
