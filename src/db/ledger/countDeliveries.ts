import type { Pool } from 'pg';
import { inTransaction, type TransactionClient } from '../pool/inTransaction.js';
import { identifier, join, sql, statement, type Sql } from '../sql/sql.js';

/**
 * Counts the hours anew in which something has changed, day by day, newest first. Any number of relays may call it: one
 * counts, for the others nothing is due.
 */
export async function countDeliveries(pool: Pool): Promise<void> {
  const { rows } = await pool.query<{ days: Date[]; now: Date }>(DUE_DAYS);
  const [due] = rows;
  if (!due) throw new Error('the days are one row');
  for (const day of due.days) {
    if (!(await inTransaction(pool, (tx) => countDay(tx, day)))) return;
  }
  await pool.query(COUNTED, [due.now]);
}

/** @returns false if another relay is counting */
async function countDay(tx: TransactionClient, day: Date): Promise<boolean> {
  const locked = await tx.query(LOCK);
  if (locked.rowCount === 0) return false;
  // The statement that counts sees at least what this one saw. What is committed between them has left rows of its own.
  const { rows } = await tx.query<Due>(TAKE_DUE, [day]);
  const [due] = rows;
  if (due?.since) await tx.query(COUNT, [due.tenantids, due.hours, due.since, due.until]);
  return true;
}

/** The longest period that figures are shown of, twice: it is compared with the one before. */
const KEPT_DAYS = 62;

/** Removes counts that nobody can ask for anymore. */
export async function pruneDeliveryCounts(pool: Pool): Promise<void> {
  for (const text of PRUNE) await pool.query(text);
}

const PRUNE = ['delivery_count', 'delivery_count_by_type', 'delivery_count_by_wait'].map(
  (table) =>
    statement`delete from ${identifier('rowpost', table)} where hour < now() - interval '${KEPT_DAYS} days'`,
);

interface Due {
  readonly tenantids: number[];
  readonly hours: Date[];
  /** Null if nothing is due. */
  readonly since: Date | null;
  readonly until: Date | null;
}

// Read before counting: what is committed later may not be counted.
const DUE_DAYS = statement`
  select now() as now, array(select date_trunc('day', hour, 'UTC') as day from rowpost.delivery_count_due
    group by 1 order by 1 desc) as days`;

const COUNTED = statement`update rowpost.delivery_count_run set counted = greatest(counted, $1::timestamptz)`;

// It may read a day's partitions as a whole, so its plan must be made for this day, and it may take longer than a request. By hash:
// where the planner knows nothing of an hour's rows yet, it would compare all of a tenant's with one another.
export const LOCK = statement`
  select set_config('statement_timeout', '0', true), set_config('plan_cache_mode', 'force_custom_plan', true),
    set_config('enable_nestloop', 'off', true), set_config('enable_mergejoin', 'off', true),
    set_config('enable_sort', 'off', true), set_config('jit', 'off', true), set_config('work_mem', '32MB', true)
  from (select from rowpost.delivery_count_run for update skip locked) run`;

const TAKE_DUE = statement`
  with taken as (
    delete from rowpost.delivery_count_due where hour >= $1::timestamptz and hour < $1::timestamptz + interval '1 day'
    returning tenantid, hour
  ), due as (select distinct d.tenantid, d.hour from taken d join rowpost.tenant using (tenantid))
  select array_agg(tenantid) as tenantids, array_agg(hour) as hours, min(hour) as since,
    max(hour) + interval '1 hour' as until
  from due`;

const ofHours = (row: Sql): Sql =>
  sql`${row}.tenantid = any ($1::int[]) and ${row}.hour >= $3::timestamptz and ${row}.hour < $4::timestamptz`;

/** From the first of the hours to the last, so that the planner finds their partition. */
const inHours = (row: Sql): Sql =>
  sql`${row}.tenantid = any ($1::int[]) and ${row}.createtime >= $3::timestamptz and ${row}.createtime < $4::timestamptz`;

/** Makes a table's rows of the hours those counted. Rows that are as before are left alone. */
function replaced(name: string, table: Sql, columns: readonly string[], where: Sql): Sql {
  const names = ['tenantid', 'hour', ...columns].map((column) => identifier(column));
  const [key, figure, known] = [join(names, ', '), identifier(`${name}_figure`), identifier(`${name}_known`)];
  const sameKey = join(
    names.map((column) => sql`c.${column} = g.${column}`),
    ' and ',
  );
  return sql`${figure} as materialized (
    select ${key}, sum(deliveries)::int as deliveries from counted where ${where} group by ${key}
  ), ${known} as materialized (
    select ${key}, deliveries from ${table} c join due using (tenantid, hour) where ${ofHours(sql`c`)}
  ), ${identifier(`${name}_gone`)} as (
    delete from ${table} c using (select ${key} from ${known} except select ${key} from ${figure}) g
    where ${sameKey} and ${ofHours(sql`c`)}
  ), ${identifier(`${name}_changed`)} as (
    insert into ${table} (${key}, deliveries) select * from ${figure} except select * from ${known}
    on conflict (${key}) do update set deliveries = excluded.deliveries
  )`;
}

// The status is that of the view `email_delivery`, which looks it up row by row: here it is found for all at once.
export const COUNT = statement`
  with due as materialized (
    select * from unnest($1::int[], $2::timestamptz[]) as due(tenantid, hour)
  ), redriven as (
    select a.tenantid, a.deliveryid, a.createtime, date_trunc('second', max(a.finished)) as time
    from rowpost.email_attempt a where a.outcome = 'redriven' and ${inHours(sql`a`)} group by 1, 2, 3
  ), reported as (
    select e.tenantid, e.deliveryid, e.createtime,
      case
        when bool_or(e.event = 'spamreport') then 'complained'
        when bool_or(e.event in ('unsubscribe', 'group_unsubscribe')) then 'unsubscribed'
        when bool_or(e.event in ('bounce', 'dropped')) then 'bounced'
        when bool_or(e.event = 'click') then 'clicked'
        when bool_or(e.event = 'open') then 'opened'
        when bool_or(e.event = 'delivered') then 'delivered'
      end as status
    from rowpost.email_event e left join redriven r using (tenantid, deliveryid, createtime)
    where ${inHours(sql`e`)} and not (e.event = 'dropped' and starts_with(e.provider_event_id, 'invalid.'))
      and (r.time is null or e.time >= r.time)
    group by 1, 2, 3
  ), ended as (
    select d.tenantid, d.deliveryid, d.createtime, due.hour, d.ruleid, d.email_type, coalesce(d.error_code, '') as error_code,
      coalesce(d.carrier, s.carrier, '') as carrier,
      case when d.tracked then d.state when a.attempt is not null then 'sent' when s.deliveryid is not null then 'sending'
        else d.state end as state,
      case when d.tracked then d.sent_time else a.finished end - d.createtime as took
    from due
      join rowpost.delivery d on d.tenantid = due.tenantid and date_trunc('hour', d.createtime, 'UTC') = due.hour
      left join (select * from rowpost.delivery_start s where ${inHours(sql`s`)}) s
        on s.tenantid = d.tenantid and s.deliveryid = d.deliveryid and s.createtime = d.createtime
      left join (select * from rowpost.email_attempt a where a.attempt = 1 and ${inHours(sql`a`)}) a
        on a.tenantid = d.tenantid and a.deliveryid = d.deliveryid and a.createtime = d.createtime
    where ${inHours(sql`d`)}
  ), counted as materialized (
    select tenantid, hour, ruleid, email_type, carrier, error_code,
      case when state in ('pending', 'retrying') then 'scheduled' when state in ('paused', 'skipped') then 'held_back'
        when state in ('sending', 'failed') then state else coalesce(e.status, state) end as status,
      case when state = 'sent' and r.time is null
        then floor(8 / ln(2::float8) * ln(1 + greatest(0, extract(epoch from took)::float8 * 1000)))::smallint end as wait,
      count(*)::int as deliveries
    from ended left join reported e using (tenantid, deliveryid, createtime)
      left join redriven r using (tenantid, deliveryid, createtime)
    group by 1, 2, 3, 4, 5, 6, 7, 8
  ), ${replaced('status', sql`rowpost.delivery_count`, ['status', 'carrier', 'error_code'], sql`true`)},
  ${replaced('type', sql`rowpost.delivery_count_by_type`, ['email_type', 'ruleid', 'status'], sql`true`)},
  ${replaced('wait', sql`rowpost.delivery_count_by_wait`, ['wait'], sql`wait is not null`)}
  select 1`;
