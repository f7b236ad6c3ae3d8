import type { Pool } from 'pg';

/** What waits, and for how long. Times in seconds; null when nothing waits. */
export interface Waiting {
  /** Committed events that no relay has read, of those older than some seconds. */
  readonly unreadEvents: number;
  readonly unreadSeconds: number | null;
  /** Deliveries that are to be sent now or are being sent: not those that wait for their next attempt. */
  readonly waiting: number;
  readonly waitingSeconds: number | null;
  /** Deliveries that wait for their next attempt, or their turn. */
  readonly later: number;
  /** Deliveries that wait for a tenant's key or credit. */
  readonly paused: number;
  /** Pairs of a rule and a record that were held as a loop in the last minutes. */
  readonly loopsTripped: number;
}

export interface Backlog extends Waiting {
  /** Batches of the last hour whose rules are not evaluated. */
  readonly openBatches: number;
  readonly openBatchSeconds: number | null;
}

/** Reads along indexes only: cheap enough to be asked for every few seconds. */
export function readWaiting(pool: Pool): Promise<Waiting> {
  return readRow<Waiting>(pool, `${WAITING_CTES} select ${WAITING_COLUMNS}`);
}

/** Reads the batches as well, which are many. */
export function readBacklog(pool: Pool): Promise<Backlog> {
  return readRow<Backlog>(pool, BACKLOG);
}

async function readRow<Row extends object>(pool: Pool, text: string): Promise<Row> {
  const { rows } = await pool.query<Row>(text);
  const [row] = rows;
  if (!row) throw new Error('the figures are one row');
  return row;
}

/** An event this young is on its way: nothing is amiss. */
const YOUNG = `interval '5 seconds'`;

const WAITING_CTES = `
  with unread as (
    select o.time from rowpost.outbox o
    where o.xid >= (select pg_snapshot_xmax(snapshot) from rowpost.relay_tick order by tickid desc limit 1)
      and o.time < now() - ${YOUNG}
  ), tracked as (
    select state, next_attempt > now() as later, createtime from rowpost.delivery where due is not null and tracked
  ), untracked as (
    select d.createtime from rowpost.delivery d
    where not d.tracked
      and d.xid >= (select pg_snapshot_xmax(since) from rowpost.delivery_sweep order by sweepid desc limit 1)
      and not exists (select from rowpost.email_attempt a where a.attempt = 1
        and a.tenantid = d.tenantid and a.deliveryid = d.deliveryid and a.createtime = d.createtime)
  ), waiting as (
    select createtime from tracked where later is not true union all select createtime from untracked
  )`;

const WAITING_COLUMNS = `
  (select count(*)::int from unread) as "unreadEvents",
  (select extract(epoch from now() - min(time))::float8 from unread) as "unreadSeconds",
  (select count(*)::int from waiting) as "waiting",
  (select extract(epoch from now() - min(createtime))::float8 from waiting) as "waitingSeconds",
  (select count(*)::int from tracked where later) as "later",
  (select count(*)::int from rowpost.delivery where state = 'paused') as "paused",
  (select count(*)::int from rowpost.rule_firing where tripped and createtime > now() - interval '5 minutes')
    as "loopsTripped"`;

const BACKLOG = `${WAITING_CTES}, batches as (
    select b.createtime from rowpost.relay_batch b
    where b.createtime > now() - interval '1 hour' and not exists (select from rowpost.relay_batch_done d
      where d.batchid = b.batchid and d.createtime = b.createtime)
  )
  select ${WAITING_COLUMNS},
    (select count(*)::int from batches) as "openBatches",
    (select extract(epoch from now() - min(createtime))::float8 from batches) as "openBatchSeconds"`;
