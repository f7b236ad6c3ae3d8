import type { HeldDelivery } from './deliveryKey.js';
import type { Ledger } from '../pool/ledgerPool.js';
import { columnsOf, sameDelivery, wantedSql } from './manyDeliveries.js';
import { isMovedSql } from './isMovedSql.js';
import { queuedAt, rateLimitSlotsSql } from './rateLimitSlots.js';
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
 * Pauses deliveries until their tenant is resumed. If it has been resumed meanwhile, they become pending instead. The tenant's key
 * row is locked, so that none is paused just after the others were resumed.
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

/** Deliveries of one tenant that are resumed in one transaction. */
const RESUMED_TOGETHER = 1_000;
const PARTS_IN_A_RUN = 10;

/**
 * Resumes a tenant after a new key was set or its account was fixed, with the first of its deliveries. The relay resumes the rest,
 * since there may be more than one transaction could resume. Pass a transaction.
 * @param emailsPerSecond 0 for no limit
 */
export async function resumeTenant(
  db: StatementRunner,
  tenantid: number,
  emailsPerSecond: number,
): Promise<void> {
  await db.query(
    `update rowpost.email_apikey set paused_code = null, paused_reason = null, wait_until = null where tenantid = $1`,
    [tenantid],
  );
  await db.query(RESUME.text, [tenantid, emailsPerSecond, RESUMED_TOGETHER]);
}

/**
 * Resumes paused deliveries of tenants that are not paused, some thousands of them, subject to the tenants' rate limit. Tenants take
 * turns, in random order. Safe to run concurrently.
 * @param emailsPerSecond 0 for no limit
 */
export async function resumeDeliveries(ledger: Ledger, emailsPerSecond: number): Promise<void> {
  const tenants = await ledger.query<{ tenantid: number }>(RESUMABLE, [PARTS_IN_A_RUN]);
  const turns = tenants.map(({ tenantid }) => tenantid);
  for (let part = 0; part < PARTS_IN_A_RUN; part++) {
    const tenantid = turns.shift();
    if (tenantid === undefined) return;
    const resumed = await ledger.query(RESUME, [tenantid, emailsPerSecond, RESUMED_TOGETHER]);
    if (resumed.length === RESUMED_TOGETHER) turns.push(tenantid);
  }
}

// From one tenant to the next in the index of paused deliveries.
const RESUMABLE = {
  name: 'resumable_tenants',
  text: statement`
    with recursive waiting(tenantid) as (
      (select tenantid from rowpost.delivery where state = 'paused' order by tenantid limit 1)
      union
      select (select d.tenantid from rowpost.delivery d
        where d.state = 'paused' and d.tenantid > w.tenantid order by d.tenantid limit 1)
      from waiting w where w.tenantid is not null
    )
    select tenantid from waiting w join rowpost.email_apikey k using (tenantid)
    where k.paused_code is null order by random() limit $1::int`,
};

const RESUME = {
  name: 'resume_deliveries',
  text: statement`
    with batch as (select $1::int as tenantid), guarded as materialized (
      select tenantid, deliveryid, createtime, deliveryid as position, null as code, false as trips from rowpost.delivery d
      where tenantid = $1::int and state = 'paused' and not ${isMovedSql(sql`d`)}
      limit $3::int for update skip locked
    ), ${rateLimitSlotsSql(sql`$2::int`)}
    update rowpost.delivery d
    set state = 'pending', error_code = null, error = null, next_attempt = coalesce(s.slot, now()), due = ${queuedAt(sql`s.slot`)}
    from scheduled s
    where ${sameDelivery(sql`d`, sql`s`)}
    returning d.deliveryid`,
};

/** How many of a tenant's deliveries are paused. */
export async function countPaused(db: StatementRunner, tenantid: number): Promise<number> {
  const { rows } = await db.query<{ count: number }>(
    `select count(*)::int as count from rowpost.delivery where tenantid = $1 and state = 'paused'`,
    [tenantid],
  );
  return rows[0]?.count ?? 0;
}
