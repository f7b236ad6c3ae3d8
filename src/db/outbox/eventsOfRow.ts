import type { Pool } from 'pg';
import { inTransaction } from '../pool/inTransaction.js';
import type { EmailRule, EventRecords } from './batches.js';
import { IS_OPEN, LOW_WATER_SQL } from './lowWaterMark.js';
import { fittingSql, MAX_EVENT_BYTES, recordColumnsSql } from './recordSize.js';
import { ISO, pageSql, searchBackwards } from './searchBackwards.js';
import { sql, statement } from '../sql/sql.js';

/** `waiting` for the relay, `queued` for a worker, or compared with the tenant's rules. */
export type Progress = 'waiting' | 'queued' | 'evaluated';

/** An event of a row, newest first. Times are ISO 8601. */
export interface RowEvent extends EventRecords {
  readonly time: string;
  /** The same, in seconds since the epoch. */
  readonly timeSeconds: number;
  readonly operation: string;
  readonly roleid: number | null;
  readonly writer: string | null;
  readonly application: string | null;
  readonly progress: Progress;
}

export interface RowDelivery {
  readonly eventid: string;
  readonly ruleid: string;
  readonly deliveryid: string;
  readonly email_type: string;
  readonly state: string;
  readonly status: string;
  readonly attempts: number;
  readonly error_code: string | null;
  readonly error: string | null;
  readonly next_attempt: string | null;
  readonly sent_time: string | null;
}

export interface TenantRule extends EmailRule {
  readonly name: string;
  readonly enabled: boolean;
  readonly createdSeconds: number;
}

export interface RowHistory {
  readonly events: readonly RowEvent[];
  /** Whether there are older ones. */
  readonly hasMore: boolean;
  /** How far back the outbox was searched; null for all of it. */
  readonly searchedSince: string | null;
  readonly deliveries: readonly RowDelivery[];
  /** Those of the event's table first. */
  readonly rules: readonly TenantRule[];
  /** Rules beyond the limit. */
  readonly rulesLeftOut: number;
}

export interface RowOfTenant {
  readonly tenantid: number;
  /** The table's GraphQL name. */
  readonly target: string;
  /** As stored with events. */
  readonly key: string;
}

export interface HistoryLimits {
  readonly events: number;
  readonly rules: number;
  readonly searchMs: number;
}

/**
 * What is recorded of a row, in one snapshot. Throws driver errors. Events have no index on their keys, which every write would
 * pay for: they are searched for up to `searchMs`.
 */
export async function readRowHistory(
  pool: Pool,
  { tenantid, target, key }: RowOfTenant,
  limits: HistoryLimits,
): Promise<RowHistory> {
  return inTransaction(pool, async (client) => {
    const { found, searchedSince } = await searchBackwards(client, PAGE, [tenantid, target, key], limits);
    const shown = found.slice(0, limits.events);
    const { rows: events } = await client.query<RowEvent>(EVENTS, [
      tenantid,
      shown.map(({ eventid }) => eventid),
      shown.map(({ time }) => time),
    ]);
    const { rows: deliveries } = await client.query<RowDelivery>(DELIVERIES, [
      tenantid,
      events.map(({ eventid }) => eventid),
      events.map(({ time }) => time),
    ]);
    const { rows: rules } = await client.query<TenantRule & { total: number }>(RULES, [
      tenantid,
      target,
      limits.rules,
    ]);
    const evaluated = new Set(deliveries.map(({ eventid }) => eventid));
    return {
      // After a dump was restored, transaction ids are of another cluster.
      events: events.map((event) =>
        evaluated.has(event.eventid) ? { ...event, progress: 'evaluated' } : event,
      ),
      hasMore: found.length > events.length,
      searchedSince,
      deliveries,
      rules,
      rulesLeftOut: (rules[0]?.total ?? 0) - rules.length,
    };
  });
}

// Keys are compared as text: a tenant's code can write keys that are not valid jsonb, which would fail the statement.
const PAGE = statement`${pageSql(
  sql`operation, key`,
  sql`tenantid = $2::int and target = $3::text and (key::text = $4::text or operation = 'truncate')`,
)}`;

/** The longest prefix that fits the memory budget. */
const EVENTS = statement`
  with ${LOW_WATER_SQL}, read as materialized (
    select snapshot from rowpost.relay_poll order by pollid desc limit 1
  ), open as materialized (
    select b.eventids from rowpost.relay_batch b where b.tenantid = $1::int and ${IS_OPEN}
  )
  ${fittingSql(
    sql`eventid, time, "timeSeconds", operation, roleid, writer, application, progress, old, new, "isTooLarge"`,
    sql`
      select -o.eventid as position, o.eventid::text as eventid, ${ISO(sql`o.time`)} as time,
        extract(epoch from o.time)::float8 as "timeSeconds", o.operation, o.roleid, o.writer, o.application,
        case when not pg_visible_in_snapshot(o.xid, (select snapshot from read)) then 'waiting'
          when exists (select from open b where o.eventid = any (b.eventids)) then 'queued' else 'evaluated' end as progress,
        ${recordColumnsSql(sql`o`)}
      from rowpost.outbox o
      where o.tenantid = $1::int and o.eventid = any ($2::bigint[]) and o.time = any ($3::timestamptz[])`,
    MAX_EVENT_BYTES,
  )}`;

/** A delivery has the time of its event. */
const DELIVERIES = statement`
  select d.eventid::text, d.ruleid::text, d.deliveryid::text, d.email_type, d.state, d.status, d.attempts, d.error_code,
    d.error, ${ISO(sql`d.next_attempt`)} as next_attempt, ${ISO(sql`d.sent_time`)} as sent_time
  from rowpost.email_delivery d
  where d.tenantid = $1::int and d.eventid = any ($2::bigint[]) and d.createtime = any ($3::timestamptz[])
  order by d.deliveryid`;

const RULES = statement`
  select r.ruleid::text, r.name, r.operations, r.targets, r.condition, r.enabled,
    extract(epoch from r.createtime)::float8 as "createdSeconds", (count(*) over ())::int as total
  from rowpost.email_rule r where r.tenantid = $1::int
  order by $2::text = any (r.targets) desc, r.ruleid limit $3::int`;
