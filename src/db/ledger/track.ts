import type { DeliveryKey } from './deliveryKey.js';
import type { Ledger } from '../pool/ledgerPool.js';
import { columnsOf, sameDelivery, wantedSql } from './manyDeliveries.js';
import { sql, statement, toText, type Sql } from '../sql/sql.js';

/**
 * Makes each delivery's own row authoritative, by copying the state of its start and first attempt into it. Everything
 * that updates a delivery in place does this first; a tracked delivery is left unchanged.
 */
export async function trackDeliveries(ledger: Ledger, keys: readonly DeliveryKey[]): Promise<void> {
  if (keys.length === 0) return;
  const values = columnsOf(keys);
  // Two statements: the second one's snapshot is taken once no attempt is being started or finished concurrently, since
  // those lock the row too.
  await ledger.transaction([
    [LOCK, values],
    [TRACK, values],
  ]);
}

/**
 * SQL: delivery `d` is neither tracked nor ended. A scalar subquery guarantees an index lookup per row even with stale
 * statistics; `not exists` was planned as a nested loop over both tables while they were nearly empty.
 */
export const NOT_ENDED = sql`not d.tracked and (select a.attempt from rowpost.email_attempt a where a.attempt = 1
  and ${sameDelivery(sql`a`, sql`d`)}) is null`;

/** SQL: the state of a delivery `d`, given its start `s` and its first attempt `a` if it is not tracked. */
export const STATE = sql`case when a.attempt is not null then 'sent' when s.deliveryid is not null then 'sending' else d.state end`;

/** @param keys SQL: rows with tenantid, deliveryid and createtime */
export function trackSql(keys: Sql): Sql {
  return sql`
    update rowpost.delivery d
    set tracked = true,
      state = ${STATE},
      starts = case when s.deliveryid is null then 0 else 1 end,
      attempts = case when a.attempt is null then 0 else 1 end,
      started = s.started, start_id = s.start_id, recipients = s.recipients, intended = s.intended, subject = s.subject,
      carrier = s.carrier,
      provider_message_id = a.provider_message_id, sent_time = a.finished,
      due = case when a.attempt is not null then null else coalesce(s.leased_until, now()) end
    from (${keys}) k
      left join rowpost.delivery_start s
        on ${sameDelivery(sql`s`, sql`k`)}
      left join rowpost.email_attempt a
        on ${sameDelivery(sql`a`, sql`k`)} and a.attempt = 1
    where ${sameDelivery(sql`d`, sql`k`)} and not d.tracked`;
}

const LOCK = {
  name: 'delivery_track_lock',
  text: statement`
    select d.deliveryid from ${wantedSql()} join rowpost.delivery d on ${sameDelivery(sql`d`, sql`w`)}
    where not d.tracked order by d.deliveryid for update of d`,
};

const TRACK = { name: 'delivery_track', text: toText(trackSql(sql`select * from ${wantedSql()}`)) };
