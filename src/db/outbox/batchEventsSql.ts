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

/**
 * CTE `batched`: events that some rule covers become batches of one tenant each, round-robin by tenant.
 * @param events has eventid, time, tenantid, operation and target
 * @param batchEvents SQL: maximum events per batch
 */
export const batchedSql = (events: Sql, batchEvents: Sql): Sql => sql`
    covered as (
      select e.*, (row_number() over (partition by e.tenantid order by e.eventid) - 1) / ${batchEvents} as part
      from ${events} e where exists (select from rowpost.email_rule r where ${coversSql(sql`e`)})
    ), batched as (
      insert into rowpost.relay_batch (tenantid, eventids, mintime, maxtime)
      select tenantid, array_agg(eventid order by eventid), min(time), max(time)
      from covered group by part, tenantid order by part, tenantid
      returning batchid, tenantid, cardinality(eventids) as events, createtime
    )`;
