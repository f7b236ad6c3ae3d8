import type { StatementRunner } from '../sql/statementRunner.js';
import { AppError } from '../../foundation/errors.js';
import { sameDelivery } from './manyDeliveries.js';
import { assignRateLimitSlots } from './rateLimitSlots.js';
import { trackSql } from './track.js';
import { sql, statement, toText } from '../sql/sql.js';

/**
 * Redrives a delivery that has ended in any state, subject to the tenant's rate limit. Adds a history entry and resets
 * the attempt count. Pass a transaction. Throws AppError NOT_FOUND or REDRIVE_NOT_ALLOWED.
 * @param emailsPerSecond 0 for no limit
 */
export async function redriveDelivery(
  db: StatementRunner,
  tenantid: number,
  deliveryid: string,
  emailsPerSecond: number,
): Promise<void> {
  const [row] = await redrive(db, tenantid, [deliveryid], emailsPerSecond);
  if (!row) throw new AppError('NOT_FOUND', `the tenant has no delivery ${deliveryid}`);
  if (!row.redriven) {
    throw new AppError('REDRIVE_NOT_ALLOWED', `delivery ${deliveryid} is still "${row.state}"`, {
      details: { deliveryid, state: row.state },
    });
  }
}

/**
 * Redrives those of the deliveries that have ended, subject to the tenant's rate limit. Pass a transaction.
 * @param emailsPerSecond 0 for no limit
 * @returns the number redriven
 */
export async function redriveDeliveries(
  db: StatementRunner,
  tenantid: number,
  deliveryids: readonly string[],
  emailsPerSecond: number,
): Promise<number> {
  if (deliveryids.length === 0) return 0;
  const rows = await redrive(db, tenantid, deliveryids, emailsPerSecond);
  return rows.filter((row) => row.redriven).length;
}

async function redrive(
  db: StatementRunner,
  tenantid: number,
  deliveryids: readonly string[],
  emailsPerSecond: number,
): Promise<readonly Redriven[]> {
  const keys = [tenantid, deliveryids];
  await db.query(LOCK, keys);
  await db.query(TRACK, keys);
  const { rows } = await db.query<Redriven>(REDRIVE, keys);
  await assignRateLimitSlots(db, tenantid, emailsPerSecond);
  return rows;
}

interface Redriven {
  /** The state before. */
  state: string;
  redriven: boolean;
}

const FOUND = sql`select tenantid, deliveryid, createtime, state from rowpost.delivery
  where tenantid = $1 and deliveryid = any ($2::bigint[])`;
const LOCK = statement`${FOUND} order by deliveryid for update`;
const TRACK = toText(trackSql(FOUND));

const REDRIVE = statement`
  with found as materialized (${FOUND}), redriven as (
    update rowpost.delivery d
    set state = 'pending', starts = d.starts + 1, attempts = 0, lost = 0, error_code = null, error = null,
      next_attempt = now(), due = now()
    from found f
    where ${sameDelivery(sql`d`, sql`f`)}
      and d.state in ('sent', 'failed', 'skipped', 'unknown')
    returning d.tenantid, d.deliveryid, d.starts, d.createtime
  ), recorded as (
    insert into rowpost.email_attempt (tenantid, deliveryid, attempt, started, finished, outcome, error, createtime)
    select r.tenantid, r.deliveryid, r.starts, now(), now(), 'redriven', 'was ' || f.state, r.createtime
    from redriven r join found f using (deliveryid)
  )
  select f.state, r.deliveryid is not null as redriven from found f left join redriven r using (deliveryid)`;
