import { sameDelivery } from './manyDeliveries.js';
import { sql, statement, type Sql } from '../sql/sql.js';
import type { StatementRunner } from '../sql/statementRunner.js';

/** Deliveries with a slot within this time wait in the queue. The relay queues the others when their slot is near. */
export const QUEUE_AHEAD_SECONDS = 5;

/**
 * CTE `scheduled`: the rows of `guarded` with `slot`, the time at which the delivery may be sent; null without a limit, and for
 * rows that send nothing. Slots are allocated in the order of `position`, from the tenant's one counter. Reads `batch`.
 * @param perSecond SQL: an integer, 0 for no limit
 */
export const rateLimitSlotsSql = (perSecond: Sql): Sql => sql`
    numbered as materialized (
      select *, case when ${perSecond} > 0 and code is null and not trips
        then count(*) filter (where code is null and not trips) over (order by position desc) end as before_last
      from guarded
    ), paced as (
      insert into rowpost.email_pace as p (tenantid, next_slot)
      select b.tenantid, now() + ${gapSql(perSecond)} * s.slots
      from batch b, (select max(before_last) as slots from numbered) s where s.slots > 0
      on conflict (tenantid) do update
      set next_slot = greatest(p.next_slot, now()) + (excluded.next_slot - now())
      returning next_slot
    ), scheduled as materialized (
      select *, (select next_slot from paced) - ${gapSql(perSecond)} * before_last as slot from numbered
    )`;

/** SQL: when the relay looks at a delivery with this slot, or with none. */
export const queuedAt = (slot: Sql): Sql =>
  sql`greatest(${slot} - interval '${QUEUE_AHEAD_SECONDS} seconds', now())`;

const gapSql = (perSecond: Sql): Sql => sql`interval '1 second' / nullif(${perSecond}, 0)`;

/**
 * Assigns rate limit slots to a tenant's deliveries that all became due at once, because they were redriven together. Pass
 * the transaction that made them due, so that no relay sees them earlier.
 * @param emailsPerSecond 0 for no limit: nothing changes
 */
export async function assignRateLimitSlots(
  db: StatementRunner,
  tenantid: number,
  emailsPerSecond: number,
): Promise<void> {
  if (emailsPerSecond === 0) return;
  await db.query(ASSIGN_SLOTS, [tenantid, emailsPerSecond]);
}

// From the same counter as those of new deliveries.
const ASSIGN_SLOTS = statement`
  with batch as (select $1::int as tenantid), guarded as materialized (
    select tenantid, deliveryid, createtime, deliveryid as position, null as code, false as trips from rowpost.delivery
    where tenantid = $1 and state = 'pending' and tracked and due <= now()
      and (next_attempt is null or next_attempt <= now())
  ), ${rateLimitSlotsSql(sql`$2::int`)}
  update rowpost.delivery d
  set next_attempt = slot, due = ${queuedAt(sql`slot`)}
  from scheduled s
  where ${sameDelivery(sql`d`, sql`s`)}`;
