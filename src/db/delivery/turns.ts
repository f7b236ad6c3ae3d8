import type { Knex } from 'knex';

/** Turns that come within this time are waited for in the queue. The relay looks at the others when they come near. */
export const AHEAD_SECONDS = 5;

/**
 * Gives turns to the deliveries of a tenant that are all due now, because they were resumed or redriven together: its
 * rate is capped. Give the transaction that made them due, so that no relay sees them before.
 * @param emailsPerSecond 0 for no cap: then nothing changes
 */
export async function giveTurns(knex: Knex, tenantid: number, emailsPerSecond: number): Promise<void> {
  if (emailsPerSecond === 0) return;
  await knex.raw(GIVE_TURNS, { tenantid, emailsPerSecond });
}

// As `closeBatch` does for new ones: from one row of the tenant.
const GIVE_TURNS = `
  with waiting as materialized (
    select deliveryid, createtime, row_number() over (order by deliveryid desc) as before_last from rowpost.delivery
    where tenantid = :tenantid and state = 'pending' and tracked and due <= now()
      and (next_attempt is null or next_attempt <= now())
  ), paced as (
    insert into rowpost.email_pace as p (tenantid, next_slot)
    select :tenantid, now() + interval '1 second' / :emailsPerSecond * turns
    from (select count(*) as turns from waiting) w where turns > 0
    on conflict (tenantid) do update
    set next_slot = greatest(p.next_slot, now()) + (excluded.next_slot - now())
    returning next_slot
  ), slots as (
    select deliveryid, createtime, next_slot - interval '1 second' / :emailsPerSecond * before_last as slot
    from waiting cross join paced
  )
  update rowpost.delivery d
  set next_attempt = slot, due = greatest(slot - interval '${AHEAD_SECONDS} seconds', now())
  from slots s
  where d.tenantid = :tenantid and d.deliveryid = s.deliveryid and d.createtime = s.createtime`;
