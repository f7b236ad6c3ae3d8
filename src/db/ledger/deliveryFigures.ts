import type { StatementRunner } from '../sql/statementRunner.js';
import { sql, statement, type Sql } from '../sql/sql.js';

/** Deliveries of one status. */
export interface StatusCount {
  readonly status: string;
  readonly deliveries: number;
}

/** Figures of a tenant's deliveries, from the counts that a relay keeps. Days and hours are UTC, by createtime. */
export interface DeliveryFigures {
  /** What was committed by then is counted; null before the first time. */
  readonly counted: string | null;
  readonly since: string;
  /** When the current hour began, where the comparison ends. */
  readonly compared_until: string;
  readonly statuses: readonly (StatusCount & { readonly compared: number; readonly before: number })[];
  readonly times: readonly (StatusCount & { readonly time: string })[];
  readonly carriers: readonly (StatusCount & { readonly carrier: string })[];
  readonly causes: readonly (StatusCount & { readonly error_code: string })[];
  readonly accepted_p50_seconds: number | null;
  readonly accepted_p95_seconds: number | null;
  readonly late: number;
}

/** What was sent of one email type, or by one rule. */
export interface Activity {
  readonly name: string;
  readonly deliveries: number;
  /** The hour of the newest delivery. */
  readonly newest: string;
  readonly statuses: readonly StatusCount[];
  /** How many on each day. */
  readonly days: readonly number[];
}

/** @param days today and the days before it */
export async function readDeliveryFigures(
  db: StatementRunner,
  tenantid: number,
  days: number,
): Promise<DeliveryFigures> {
  const { rows } = await db.query<{ figures: DeliveryFigures & Percentiles }>(FIGURES, [tenantid, days]);
  const [row] = rows;
  if (!row) throw new Error('the figures are one row');
  const { p50, p95, ...figures } = row.figures;
  return { ...figures, accepted_p50_seconds: secondsOf(p50), accepted_p95_seconds: secondsOf(p95) };
}

interface Percentiles {
  readonly p50: number | null;
  readonly p95: number | null;
}

/** The middle of what a counted wait stands for, which is within five percent of it. */
function secondsOf(wait: number | null): number | null {
  return wait === null ? null : Math.round(2 ** ((wait + 0.5) / 8) - 1) / 1000;
}

// Few rows for each hour, however many email types there are.
const FIGURES = statement`
  with period as materialized (
    select date_trunc('hour', now(), 'UTC') as this_hour,
      date_trunc('day', now(), 'UTC') - ($2::int - 1) * interval '1 day' as since, $2::int * interval '1 day' as length
  ), counts as materialized (
    select c.* from rowpost.delivery_count c, period where c.tenantid = $1::int and c.hour >= since - length
  ), shown as materialized (
    select c.* from counts c, period where c.hour >= since
  ), waits as (
    select wait, sum(sum(deliveries)) over (order by wait) as running, sum(sum(deliveries)) over () as total
    from rowpost.delivery_count_by_wait c, period where c.tenantid = $1::int and c.hour >= since group by wait
  )
  select json_build_object(
    'counted', (select counted from rowpost.delivery_count_run),
    'since', since,
    'compared_until', this_hour,
    'statuses', (select coalesce(json_agg(s), '[]') from (
      select status, coalesce(sum(deliveries) filter (where hour >= since), 0) as deliveries,
        coalesce(sum(deliveries) filter (where hour >= since and hour < this_hour), 0) as compared,
        coalesce(sum(deliveries) filter (where hour < this_hour - length), 0) as before
      from counts group by 1 order by 2 desc, 1) s),
    'times', (select coalesce(json_agg(t), '[]') from (
      select date_trunc(case when $2::int = 1 then 'hour' else 'day' end, hour, 'UTC') as time, status,
        sum(deliveries) as deliveries from shown group by 1, 2 order by 1, 2) t),
    'carriers', (select coalesce(json_agg(c), '[]') from (
      select carrier, status, sum(deliveries) as deliveries from shown
      where carrier <> '' group by 1, 2 order by 3 desc, 1, 2) c),
    'causes', (select coalesce(json_agg(c), '[]') from (
      select status, error_code, sum(deliveries) as deliveries from shown
      where error_code <> '' or status in ('bounced', 'complained') group by 1, 2 order by 3 desc, 1, 2) c),
    'p50', (select min(wait) from waits where running >= total * 0.5),
    'p95', (select min(wait) from waits where running >= total * 0.95),
    'late', (select coalesce(sum(deliveries), 0) from rowpost.delivery_count c
      where c.tenantid = $1::int and c.status in ('scheduled', 'sending') and c.hour < this_hour - interval '1 hour')
  ) as figures
  from period`;

/** How many deliveries there are of each status and cause, in whole hours. */
export interface DeliveryCounts {
  /** As in `DeliveryFigures`. */
  readonly counted: string | null;
  readonly causes: readonly (StatusCount & { readonly error_code: string })[];
}

/** @param since ISO 8601; null for the first hour that is kept. The hours in which the period begins and ends count as a whole. */
export async function readDeliveryCounts(
  db: StatementRunner,
  tenantid: number,
  { since, until }: { readonly since: string | null; readonly until: string | null },
): Promise<DeliveryCounts> {
  const { rows } = await db.query<DeliveryCounts>(COUNTS, [tenantid, since, until]);
  const [row] = rows;
  if (!row) throw new Error('the counts are one row');
  return row;
}

const COUNTS = statement`
  select (select to_json(counted)#>>'{}' from rowpost.delivery_count_run) as counted,
    (select coalesce(json_agg(c), '[]') from (
      select status, error_code, sum(deliveries) as deliveries from rowpost.delivery_count
      where tenantid = $1::int
        and hour >= coalesce(date_trunc('hour', $2::timestamptz, 'UTC'), '-infinity')
        and hour < coalesce($3::timestamptz, 'infinity')
      group by 1, 2 order by 3 desc, 1, 2) c) as causes`;

export interface ActivityOptions {
  readonly days: number;
  /** Only these. */
  readonly names?: readonly string[] | null | undefined;
  /** How many at most: those with most deliveries. */
  readonly limit: number;
}

export async function readActivities(
  db: StatementRunner,
  tenantid: number,
  by: 'email_type' | 'ruleid',
  { days, names = null, limit }: ActivityOptions,
): Promise<readonly Activity[]> {
  const text = by === 'email_type' ? BY_EMAIL_TYPE : BY_RULE;
  const { rows } = await db.query<Activity>(text, [tenantid, days, names, limit]);
  return rows;
}

/** The rows of a month may be hundreds of thousands: those of the most used are chosen first. */
const activitiesBy = (name: Sql, isNamed: Sql) => statement`
  with period as materialized (
    select date_trunc('day', now(), 'UTC') - ($2::int - 1) * interval '1 day' as since
  ), most as materialized (
    select ${name} as name, sum(deliveries) as deliveries, max(hour) as newest from rowpost.delivery_count_by_type c, period
    where c.tenantid = $1::int and c.hour >= since and ($3::text[] is null or ${isNamed}) group by 1
    order by 2 desc, 1 limit $4::int
  ), details as materialized (
    select ${name} as name, date_trunc('day', hour, 'UTC') as day, status, sum(deliveries) as deliveries
    from rowpost.delivery_count_by_type c, period
    where c.tenantid = $1::int and c.hour >= since and ${name} = any (array(select name from most)) group by 1, 2, 3
  ), statuses as (
    select name, json_agg(json_build_object('status', status, 'deliveries', deliveries) order by deliveries desc, status) as statuses
    from (select name, status, sum(deliveries) as deliveries from details group by 1, 2) s group by 1
  ), days as (
    select name, json_agg(deliveries order by day) as days from (
      select m.name, d.day, coalesce(sum(x.deliveries), 0) as deliveries
      from most m cross join period cross join generate_series(since, now(), interval '1 day') d(day)
        left join details x on x.name = m.name and x.day = d.day group by 1, 2) s group by 1
  )
  select name::text as name, deliveries::int as deliveries, to_json(newest)#>>'{}' as newest, statuses, days
  from most join statuses using (name) join days using (name) order by most.deliveries desc, name`;

const BY_EMAIL_TYPE = activitiesBy(sql`c.email_type`, sql`c.email_type = any ($3)`);
const BY_RULE = activitiesBy(sql`c.ruleid`, sql`c.ruleid = any ($3::text[]::bigint[])`);

/** What each tenant sent since midnight (UTC), those with most deliveries first. */
export async function readTenantFigures(
  db: StatementRunner,
  limit: number,
): Promise<readonly (Omit<Activity, 'newest' | 'days'> & { readonly tenantid: number })[]> {
  const { rows } = await db.query<Omit<Activity, 'newest' | 'days'> & { readonly tenantid: number }>(
    OF_TENANTS,
    [limit],
  );
  return rows;
}

// For each tenant by its key, which begins with it.
const OF_TENANTS = statement`
  select t.tenantid, t.name, sum(s.deliveries)::int as deliveries,
    json_agg(json_build_object('status', s.status, 'deliveries', s.deliveries) order by s.deliveries desc, s.status) as statuses
  from rowpost.tenant t cross join lateral (
    select c.status, sum(c.deliveries) as deliveries from rowpost.delivery_count c
    where c.tenantid = t.tenantid and c.hour >= date_trunc('day', now(), 'UTC') group by 1) s
  group by 1, 2 order by 3 desc, 1 limit $1::int`;
