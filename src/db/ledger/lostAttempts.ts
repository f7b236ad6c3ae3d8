import type { KnownDelivery } from './deliveryKey.js';
import type { Ledger } from '../pool/ledgerPool.js';
import { columnsOf, sameDelivery, wantedSql } from './manyDeliveries.js';
import { trackDeliveries } from './track.js';
import { sql, statement } from '../sql/sql.js';

/** Consecutive attempts that may end with their process before the delivery is `failed` as poison. */
const MAX_LOST_STARTS = 5;

/** SQL: one more lost start of a delivery `d` makes it poison. */
const IS_POISON = sql`(d.lost + 1 >= ${MAX_LOST_STARTS})`;

/** SQL: a delivery `d` whose attempt was lost is sent again. */
const IS_RETRIED = sql`(d.delivery = 'at_least_once' and not ${IS_POISON} and d.attempts + 1 < $1::int)`;

/** The error of an attempt whose idempotency key the carrier has seen with other data: the next attempt gets a new key. */
export const IDEMPOTENCY_KEY_USED =
  'the carrier knows the idempotency key from an attempt with other data, which it may have sent; the next attempt has another key and may be a duplicate';

interface LostAttemptOptions {
  readonly maxAttempts: number;
  readonly limit: number;
  /** Those that honor the delivery's idempotency key: sending again there is no duplicate. */
  readonly idempotentCarriers: readonly string[];
}

/**
 * Ends attempts whose lease has expired. Whether the carrier accepted the email is unknown and recorded as such:
 * `at_least_once` retries, possibly sending a duplicate; `at_most_once` ends as `unknown`. A delivery whose attempts
 * repeatedly end with their process is the likely cause and fails as POISON. @returns the number of lost attempts.
 */
export async function endLostAttempts(
  ledger: Ledger,
  { maxAttempts, limit, idempotentCarriers }: LostAttemptOptions,
): Promise<number> {
  const rows = await ledger.query(END_LOST, [maxAttempts, limit, idempotentCarriers]);
  return rows.length;
}

const END_LOST = {
  name: 'lease_end_lost',
  text: statement`
    with lost as materialized (
      select tenantid, deliveryid, createtime from rowpost.delivery
      where due < now() and state = 'sending' order by due limit $2::int for update skip locked
    ), ended as (
      update rowpost.delivery d
      set attempts = d.attempts + 1, lost = d.lost + 1,
        state = case when d.delivery = 'at_most_once' then 'unknown'
          when ${IS_POISON} or d.attempts + 1 >= $1::int then 'failed' else 'retrying' end,
        error_code = case when d.delivery = 'at_most_once' then 'OUTCOME_UNKNOWN'
          when ${IS_POISON} then 'POISON' else 'WORKER_LOST' end,
        error = case when d.delivery = 'at_most_once'
            then 'the worker ended while sending; whether the email left is unknown, and the rule forbids a second one'
          when ${IS_POISON} then 'each worker that tried to send this ended while doing so'
          when d.carrier = any ($3::text[]) then 'the worker ended while sending; sending it again is no duplicate, unless it shared a call'
          else 'the worker ended while sending; the email may arrive twice' end,
        next_attempt = case when ${IS_RETRIED} then now() end, due = case when ${IS_RETRIED} then now() end
      from lost l
      where ${sameDelivery(sql`d`, sql`l`)}
      returning d.tenantid, d.deliveryid, d.starts, d.started, d.createtime, d.carrier
    )
    insert into rowpost.email_attempt (tenantid, deliveryid, attempt, started, finished, outcome, error, createtime, carrier)
    select tenantid, deliveryid, starts, started, now(), 'ambiguous', 'the worker ended while sending'
      || case when carrier = any ($3::text[]) then '; sending it again is no duplicate, unless it shared a call: the carrier has its key' else '' end,
      createtime, carrier
    from ended
    on conflict do nothing
    returning attempt`,
};

/**
 * Counts a redelivered job: an earlier worker died while preparing this delivery, before anything was sent.
 * @returns false when the delivery must not be attempted: it has `failed` as POISON, or another worker has it.
 */
export async function countRedeliveredStart(ledger: Ledger, delivery: KnownDelivery): Promise<boolean> {
  await trackDeliveries(ledger, [delivery]);
  const rows = await ledger.query<{ alive: boolean }>(REDELIVERED_START, columnsOf([delivery], 'starts'));
  return rows[0]?.alive ?? false;
}

const REDELIVERED_START = {
  name: 'lease_repeated_start',
  text: statement`
    update rowpost.delivery d
    set lost = d.lost + 1,
      state = case when ${IS_POISON} then 'failed' else d.state end,
      error_code = case when ${IS_POISON} then 'POISON' else d.error_code end,
      error = case when ${IS_POISON}
        then 'each worker that tried to prepare this ended while doing so' else d.error end,
      next_attempt = case when not ${IS_POISON} then d.next_attempt end,
      due = case when not ${IS_POISON} then d.due end
    from ${wantedSql('starts int4')}
    where ${sameDelivery(sql`d`, sql`w`)} and d.starts = w.starts
      and d.state in ('pending', 'retrying')
    returning d.state <> 'failed' as alive`,
};
