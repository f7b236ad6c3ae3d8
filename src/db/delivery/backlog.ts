import type { Pool } from 'pg';
import { LOW_WATER_SQL } from './lowWaterMark.js';

/** Queue depths and ages. Ages are in seconds, null when nothing is waiting. */
export interface Backlog {
  /** Committed events that no relay has read, excluding those of the last few seconds. */
  readonly unreadEvents: number;
  readonly unreadSeconds: number | null;
  /** Batches whose rules have not been evaluated. */
  readonly openBatches: number;
  readonly openBatchSeconds: number | null;
  /** Deliveries that are due or in flight; those backing off are not counted. */
  readonly waiting: number;
  readonly waitingSeconds: number | null;
  /** Deliveries scheduled for later: backing off, or waiting for a rate limit slot. */
  readonly later: number;
  /** Deliveries paused until their tenant has a working key or credit. */
  readonly paused: number;
  /** (rule, record) pairs that tripped the loop guard in the last minutes. */
  readonly loopsTripped: number;
}

/** Younger events are still on their way. */
const UNREAD_GRACE = `interval '5 seconds'`;

const BACKLOG = `
  with ${LOW_WATER_SQL}, unread as (
    select o.time from rowpost.outbox o
    where o.xid >= (select pg_snapshot_xmax(snapshot) from rowpost.relay_tick order by tickid desc limit 1)
      and o.time < now() - ${UNREAD_GRACE}
  ), batches as (
    select b.createtime from rowpost.relay_batch b
    where b.batchid >= (select from_batchid from low_water)
      and (select d.batchid from rowpost.relay_batch_done d
        where d.batchid = b.batchid and d.createtime = b.createtime) is null
  ), tracked as (
    select state, next_attempt > now() as later, createtime from rowpost.delivery where due is not null and tracked
  ), untracked as (
    select d.createtime from rowpost.delivery d
    where not d.tracked
      and d.xid >= (select pg_snapshot_xmax(since) from rowpost.delivery_sweep order by sweepid desc limit 1)
      -- Rows of a restored dump may bear ids that this cluster has still to reach.
      and d.xid < (select pg_snapshot_xmax(pg_current_snapshot()))
      and not exists (select from rowpost.email_attempt a where a.attempt = 1
        and a.tenantid = d.tenantid and a.deliveryid = d.deliveryid and a.createtime = d.createtime)
  ), waiting as (
    select createtime from tracked where later is not true union all select createtime from untracked
  )
  select
    (select count(*)::int from unread) as "unreadEvents",
    (select extract(epoch from now() - min(time))::float8 from unread) as "unreadSeconds",
    (select count(*)::int from batches) as "openBatches",
    (select extract(epoch from now() - min(createtime))::float8 from batches) as "openBatchSeconds",
    (select count(*)::int from waiting) as "waiting",
    (select extract(epoch from now() - min(createtime))::float8 from waiting) as "waitingSeconds",
    (select count(*)::int from tracked where later) as "later",
    (select count(*)::int from rowpost.delivery where state = 'paused') as "paused",
    (select count(*)::int from rowpost.rule_firing where tripped and createtime > now() - interval '5 minutes')
      as "loopsTripped"`;

/** Index scans only: cheap enough to poll every few seconds. */
export async function readBacklog(pool: Pool): Promise<Backlog> {
  const { rows } = await pool.query<Backlog>(BACKLOG);
  const [row] = rows;
  if (!row) throw new Error('the figures are one row');
  return row;
}
