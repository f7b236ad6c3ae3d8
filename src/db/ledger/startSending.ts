import type { KnownDelivery } from './deliveryKey.js';
import { isMovedSql } from './isMovedSql.js';
import type { Ledger, LedgerStatement } from '../pool/ledgerPool.js';
import { columnsOf, itemsFrom, sameDelivery, wantedSql } from './manyDeliveries.js';
import { sql, statement } from '../sql/sql.js';
import { toPostgresJson } from '../../foundation/postgresText.js';

/** An attempt about to call the carrier. */
export interface SendingStart extends KnownDelivery {
  /** Whether the delivery was tracked when it was loaded. */
  readonly tracked: boolean;
  readonly recipients: readonly string[];
  /** Everybody whom the email is for, as written, unless those are the recipients. */
  readonly intended?: readonly string[] | undefined;
  readonly subject: string;
  readonly carrier: string;
  /** The email as sent, packed, in base64; null if it is not kept. */
  readonly email: string | null;
  /** A UUID for this attempt, by which its worker recognizes its own start if the response was lost; without one, it can't. */
  readonly startId?: string;
}

/**
 * Commits the start of attempt number `starts + 1`, with a lease. Of several workers with the same delivery, one wins. May be repeated:
 * the winner wins again.
 * @returns for each, whether the caller may call the carrier.
 */
export async function startSending(
  ledger: Ledger,
  starts: readonly SendingStart[],
  leaseMs: number,
): Promise<readonly boolean[]> {
  const run = (
    statement: LedgerStatement,
    group: readonly SendingStart[],
  ): Promise<ReadonlySet<SendingStart>> =>
    itemsFrom(ledger, statement, group, [
      ...columnsOf(group, 'starts', 'subject', 'carrier', 'email', 'startId'),
      group.map((start) => toPostgresJson(start.recipients)),
      group.map(({ intended }) => (intended ? toPostgresJson(intended) : null)),
      leaseMs,
    ]);
  const appended = await run(
    START,
    starts.filter((start) => !start.tracked),
  );
  // Some may have become tracked since they were loaded; nothing else about them has changed.
  const updated = await run(
    START_TRACKED,
    starts.filter((start) => !appended.has(start)),
  );
  return starts.map((start) => appended.has(start) || updated.has(start));
}

// Addresses travel as JSON texts: unnest would flatten an array of arrays.
const WANTED = wantedSql(
  'starts int4',
  'subject text',
  'carrier text',
  'email text',
  'start_id uuid',
  'recipients text',
  'intended text',
);

const RECIPIENTS = sql`array(select json_array_elements_text(w.recipients::json))`;
const INTENDED = sql`case when w.intended is not null then array(select json_array_elements_text(w.intended::json)) end`;

// The lock is shared: it only prevents the delivery from becoming tracked concurrently. The primary key admits one start.
const START = {
  name: 'sending_start',
  text: statement`
    with open as materialized (
      select w.* from ${WANTED} join rowpost.delivery d on ${sameDelivery(sql`d`, sql`w`)}
      where w.starts = 0 and not d.tracked and not ${isMovedSql(sql`w`)}
      order by d.deliveryid for share of d
    ), started as (
      insert into rowpost.delivery_start as s (tenantid, deliveryid, createtime, leased_until, recipients, intended, subject, carrier,
        start_id)
      select w.tenantid, w.deliveryid, w.createtime, now() + $11::int * interval '1 ms', ${RECIPIENTS}, ${INTENDED}, w.subject, w.carrier,
        w.start_id
      from open w
      on conflict (tenantid, deliveryid, createtime) do update set leased_until = excluded.leased_until
      where s.start_id = excluded.start_id
      returning tenantid, deliveryid, createtime
    ), kept as (
      insert into rowpost.sent_mail (tenantid, deliveryid, createtime, attempt, email)
      select tenantid, deliveryid, createtime, 1, decode(w.email, 'base64')
      from open w join started using (tenantid, deliveryid, createtime)
      where w.email is not null
      on conflict do nothing
    )
    select position::int as position from open join started using (tenantid, deliveryid, createtime)`,
};

const START_TRACKED = {
  name: 'sending_start_tracked',
  text: statement`
    with started as (
      update rowpost.delivery d
      set state = 'sending', starts = w.starts + 1, started = now(), next_attempt = null, start_id = w.start_id,
        due = now() + $11::int * interval '1 ms', subject = w.subject, carrier = w.carrier, recipients = ${RECIPIENTS},
        intended = ${INTENDED}
      from ${WANTED}
      where ${sameDelivery(sql`d`, sql`w`)}
        and d.tracked
        and (d.starts = w.starts and d.state in ('pending', 'retrying')
          or d.starts = w.starts + 1 and d.state = 'sending' and d.start_id = w.start_id)
        and not ${isMovedSql(sql`w`)}
      returning w.position::int as position, d.tenantid, d.deliveryid, d.createtime, d.starts, w.email
    ), kept as (
      insert into rowpost.sent_mail (tenantid, deliveryid, createtime, attempt, email)
      select tenantid, deliveryid, createtime, starts, decode(email, 'base64') from started where email is not null
      on conflict do nothing
    )
    select position from started`,
};
