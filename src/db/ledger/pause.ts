import type { HeldDelivery } from './deliveryKey.js';
import type { Ledger } from '../pool/ledgerPool.js';
import { columnsOf, sameDelivery, wantedSql } from './manyDeliveries.js';
import { assignRateLimitSlots } from './rateLimitSlots.js';
import { trackDeliveries } from './track.js';
import { sql, statement } from '../sql/sql.js';
import type { StatementRunner } from '../sql/statementRunner.js';

/**
 * Pauses a tenant because the carrier rejects its key. A response about an older key is ignored.
 * @param reason shown to the tenant's administrator
 */
export async function pauseTenant(
  ledger: Ledger,
  tenantid: number,
  keyVersion: number,
  code: string,
  reason: string,
): Promise<void> {
  await ledger.query(PAUSE_TENANT, [tenantid, keyVersion, code, reason]);
}

const PAUSE_TENANT = {
  name: 'pause_tenant',
  text: statement`update rowpost.email_apikey set paused_code = $3::text, paused_reason = $4::text
    where tenantid = $1::int and version = $2::int and paused_code is null`,
};

/** Holds a tenant's deliveries back until the carrier's Retry-After. */
export async function holdTenant(ledger: Ledger, tenantid: number, waitMs: number): Promise<void> {
  await ledger.query(HOLD_TENANT, [tenantid, Math.ceil(waitMs)]);
}

// Every delivery in flight gets the same response: the first one is enough.
const HOLD_TENANT = {
  name: 'hold_tenant',
  text: statement`update rowpost.email_apikey set wait_until = now() + $2::bigint * interval '1 ms'
    where tenantid = $1::int
      and (wait_until is null or wait_until < now() + $2::bigint * interval '1 ms' - interval '1 second')`,
};

/** A delivery that can't be sent while its tenant is paused. */
export interface PausedDelivery extends HeldDelivery {
  readonly httpStatus: number | null;
}

/**
 * Pauses deliveries until `resumeTenant`. If the tenant has been resumed meanwhile, they become pending instead. The
 * tenant's key row is locked, so that none is paused just after the others were resumed.
 */
export async function pauseDeliveries(ledger: Ledger, deliveries: readonly PausedDelivery[]): Promise<void> {
  await trackDeliveries(ledger, deliveries);
  await ledger.query(PAUSE_DELIVERIES, columnsOf(deliveries, 'starts', 'sending', 'httpStatus'));
}

const PAUSE_DELIVERIES = {
  name: 'pause_deliveries',
  text: statement`
    with w as materialized (
      select * from ${wantedSql('starts int4', 'sending bool', 'http_status int4')}
    ), keys as materialized (
      select k.tenantid, k.paused_code, k.paused_reason from rowpost.email_apikey k
      where k.tenantid in (select tenantid from w) order by k.tenantid for share
    ), paused as (
      update rowpost.delivery d
      set state = case when k.paused_code is not null then 'paused' else 'pending' end,
        error_code = k.paused_code, error = k.paused_reason,
        -- For the backlog's figures, a resumed delivery has waited since now.
        next_attempt = case when k.paused_code is null then now() end,
        due = case when k.paused_code is null then now() end
      from w join keys k using (tenantid)
      where ${sameDelivery(sql`d`, sql`w`)}
        and d.starts = w.starts
        and case when w.sending then d.state = 'sending' else d.state in ('pending', 'retrying') end
      returning d.tenantid, d.deliveryid, d.createtime, d.starts, d.started, w.sending, w.http_status,
        d.carrier, k.paused_reason
    )
    insert into rowpost.email_attempt (tenantid, deliveryid, attempt, started, finished, outcome, http_status, error,
      createtime, carrier)
    select tenantid, deliveryid, starts, started, now(), 'paused', http_status,
      coalesce(paused_reason, 'the carrier refused the key, which was replaced meanwhile'), createtime, carrier
    from paused where sending
    on conflict do nothing`,
};

/**
 * Resumes a tenant's deliveries after a new key was set or its account was fixed, subject to the tenant's rate limit. Pass
 * a transaction.
 * @param emailsPerSecond 0 for no limit
 * @returns the number of deliveries resumed
 */
export async function resumeTenant(
  db: StatementRunner,
  tenantid: number,
  emailsPerSecond: number,
): Promise<number> {
  // Two statements: the second one sees every delivery that was paused before we locked the key row.
  await db.query(
    `update rowpost.email_apikey set paused_code = null, paused_reason = null, wait_until = null where tenantid = $1`,
    [tenantid],
  );
  const { rowCount } = await db.query(
    `update rowpost.delivery set state = 'pending', error_code = null, error = null, next_attempt = now(), due = now()
      where tenantid = $1 and state = 'paused'`,
    [tenantid],
  );
  await assignRateLimitSlots(db, tenantid, emailsPerSecond);
  return rowCount ?? 0;
}
