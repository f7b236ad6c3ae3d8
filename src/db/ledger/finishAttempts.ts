import type { HeldDelivery } from './deliveryKey.js';
import type { Ledger } from '../pool/ledgerPool.js';
import { isMovedSql } from './isMovedSql.js';
import type { DeliveryState } from './loadDeliveries.js';
import { columnsOf, itemsFrom, sameDelivery, wantedSql } from './manyDeliveries.js';
import { trackDeliveries } from './track.js';
import { sql, statement } from '../sql/sql.js';
import { toPostgresJson } from '../../foundation/postgresText.js';

export type AttemptOutcome =
  'sent' | 'rejected' | 'failed' | 'retry' | 'ambiguous' | 'paused' | 'rate_limited';

/** The outcome of an attempt and the resulting state of its delivery. */
export interface AttemptFinish extends HeldDelivery {
  /** Recorded in the history; null when there was no attempt, e.g. the delivery only waits for a rate limit. */
  readonly outcome: AttemptOutcome | null;
  readonly httpStatus: number | null;
  readonly state: Exclude<DeliveryState, 'sending' | 'paused'>;
  /** Whether the attempt counts toward the maximum. */
  readonly counted: boolean;
  /** Null keeps the recorded one. */
  readonly providerMessageId: string | null;
  readonly errorCode: string | null;
  readonly error: string | null;
  /** Of an email that was not sent. Absent keeps the recorded ones. */
  readonly intended?: readonly string[] | null;
  readonly subject?: string | null;
  /** Milliseconds from now; null for no further attempt. */
  readonly nextAttemptMs: number | null;
}

/** Seconds after its due time at which a retry is checked to be in the queue. */
const RETRY_CHECK_SECONDS = 5;

/**
 * Records outcomes of attempts. An attempt that has been fenced off changes nothing, except that a known `sent` ends a
 * delivery whose next attempt has not begun. @returns for each, whether it was recorded.
 */
export async function finishAttempts(
  ledger: Ledger,
  finishes: readonly AttemptFinish[],
): Promise<readonly boolean[]> {
  const firstSent = finishes.filter(isFirstSent);
  const appended = await itemsFrom(
    ledger,
    FINISH_FIRST_SENT,
    firstSent,
    columnsOf(firstSent, 'httpStatus', 'providerMessageId'),
  );
  const others = finishes.filter((finish) => !appended.has(finish));
  await trackDeliveries(ledger, others);
  const updated = await itemsFrom(ledger, FINISH, others, [toPostgresJson(others)]);
  return finishes.map((finish) => appended.has(finish) || updated.has(finish));
}

/** The outcome without what others wrote, if PostgreSQL refuses it with that. */
export function withoutTexts(finish: AttemptFinish): AttemptFinish {
  const error =
    finish.error === null ? null : 'the reason could not be stored; it is in the log of the worker';
  return { ...finish, providerMessageId: null, error, intended: null, subject: null };
}

/** The common case, sent on the first attempt. For an untracked delivery the attempt's row is the whole record. */
function isFirstSent(finish: AttemptFinish): boolean {
  return finish.sending && finish.starts === 1 && finish.outcome === 'sent';
}

// The lock is shared: it only prevents the delivery from becoming tracked concurrently.
const FINISH_FIRST_SENT = {
  name: 'attempt_finish_first_sent',
  text: statement`
    with open as materialized (
      select w.*, s.started, s.carrier
      from ${wantedSql('http_status int4', 'provider_message_id text')}
        join rowpost.delivery d on ${sameDelivery(sql`d`, sql`w`)}
        join rowpost.delivery_start s on ${sameDelivery(sql`s`, sql`w`)}
      where not d.tracked
      order by d.deliveryid for share of d
    ), recorded as (
      insert into rowpost.email_attempt (tenantid, deliveryid, createtime, attempt, started, finished, outcome,
        http_status, provider_message_id, carrier)
      select tenantid, deliveryid, createtime, 1, started, now(), 'sent', http_status, provider_message_id, carrier from open
      on conflict do nothing
      returning tenantid, deliveryid, createtime
    )
    select position::int as position from open join recorded using (tenantid, deliveryid, createtime)`,
};

const FINISH = {
  name: 'attempt_finish',
  text: statement`
    with w as materialized (
      select * from rows from (json_to_recordset($1::json) as (
        tenantid int, deliveryid bigint, createtime timestamptz, sending boolean, starts int, outcome text,
        "httpStatus" int, state text, counted boolean, "providerMessageId" text, "errorCode" text, error text,
        "nextAttemptMs" bigint, intended text[], subject text)) with ordinality as r(tenantid, deliveryid, createtime,
        sending, starts, outcome, http_status, state, counted, provider_message_id, error_code, error, next_attempt_ms,
        intended, subject, position)
    ), finished as (
      update rowpost.delivery d
      set state = w.state, attempts = d.attempts + w.counted::int,
        starts = case when w.sending or w.outcome is null then d.starts else d.starts + 1 end,
        lost = 0,
        provider_message_id = coalesce(w.provider_message_id, d.provider_message_id),
        error_code = w.error_code, error = w.error,
        intended = coalesce(w.intended, d.intended), subject = coalesce(w.subject, d.subject),
        sent_time = case when w.state = 'sent' then now() else d.sent_time end,
        next_attempt = now() + w.next_attempt_ms * interval '1 ms',
        due = now() + w.next_attempt_ms * interval '1 ms' + interval '${RETRY_CHECK_SECONDS} seconds'
      from w
      where ${sameDelivery(sql`d`, sql`w`)}
        and d.starts = w.starts
        and case when w.sending then d.state = 'sending' or (d.state = 'retrying' and w.state = 'sent')
          else d.state in ('pending', 'retrying') and not ${isMovedSql(sql`w`)} end
      returning w.position, w.outcome, w.http_status, w.error as attempt_error, w.provider_message_id, w.sending,
        d.tenantid, d.deliveryid, d.starts, d.started, d.createtime, d.carrier
    ), recorded as (
      insert into rowpost.email_attempt (tenantid, deliveryid, attempt, started, finished, outcome, http_status, error,
        provider_message_id, createtime, carrier)
      select tenantid, deliveryid, starts, case when sending then started else now() end, now(), outcome, http_status,
        attempt_error, provider_message_id, createtime, case when sending then carrier end
      from finished where outcome is not null
      -- The attempt had been recorded as lost; now its outcome is known.
      on conflict (tenantid, deliveryid, attempt, createtime) do update
      set finished = excluded.finished, outcome = excluded.outcome, http_status = excluded.http_status,
        error = excluded.error, provider_message_id = excluded.provider_message_id
    )
    select position::int as position from finished`,
};
