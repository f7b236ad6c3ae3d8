import type { Pool } from 'pg';
import { inTransaction } from '../pool/inTransaction.js';
import type { EventKey } from '../failover/replica.js';
import { sql, statement } from '../sql/sql.js';
import type { EventRecords, OutboxEvent } from './batches.js';
import { fittingSql, recordColumnsSql } from './recordSize.js';
import { ISO, pageSql, searchBackwards, type FoundEvents } from './searchBackwards.js';

/** Changes of some kinds to some tables of a tenant. */
export interface ChangesOfTenant {
  readonly tenantid: number;
  /** GraphQL names. */
  readonly targets: readonly string[];
  readonly operations: readonly string[];
}

/** A change, with its row before and after. */
export interface RecentEvent extends EventRecords, OutboxEvent {
  /** ISO 8601. */
  readonly time: string;
  /** JSON text, by whoever wrote the event; null if it is too long for a key. */
  readonly key: string | null;
}

/** What an email about a change is composed from. */
export interface TriggeringEvent extends RecentEvent {
  /** PostgreSQL text, exact to the microsecond. */
  readonly storedTime: string;
  /** JSON text of the file of an upload. */
  readonly file: string | null;
}

/** Finds the tenant's latest changes of these kinds. Throws driver errors. */
export function findRecentEvents(
  pool: Pool,
  { tenantid, targets, operations }: ChangesOfTenant,
  limits: { readonly events: number; readonly searchMs: number },
): Promise<FoundEvents> {
  return inTransaction(pool, (client) =>
    searchBackwards(client, PAGE, [tenantid, targets, operations], limits),
  );
}

/** Loads these events of the tenant, newest first: as many of the first ones as fit into memory, at least one. Throws driver errors. */
export async function loadRecentEvents(
  pool: Pool,
  tenantid: number,
  events: readonly EventKey[],
): Promise<readonly RecentEvent[]> {
  const { rows } = await pool.query<RecentEvent>(LOAD, [
    tenantid,
    events.map(({ eventid }) => eventid),
    events.map(({ time }) => time),
  ]);
  return rows;
}

/** The tenant's change with this id, if it is of one of these kinds. Throws driver errors. */
export async function findEvent(
  pool: Pool,
  { tenantid, targets, operations }: ChangesOfTenant,
  eventid: string,
): Promise<TriggeringEvent | undefined> {
  const { rows } = await pool.query<TriggeringEvent>(ONE, [tenantid, eventid, targets, operations]);
  return rows[0];
}

const PAGE = statement`${pageSql(
  sql`operation`,
  sql`tenantid = $2::int and target = any ($3::text[]) and operation = any ($4::text[])`,
)}`;

/** Code of a tenant can write events of its own, with keys of a megabyte. */
const MAX_KEY_BYTES = 10_000;

const EVENT = sql`o.eventid::text as eventid, ${ISO(sql`o.time`)} as time, o.operation, o.target,
  case when octet_length(o.key::text) <= ${MAX_KEY_BYTES} then o.key::text end as key, ${recordColumnsSql(sql`o`)}`;

const LOAD = statement`${fittingSql(
  sql`eventid, time, operation, target, key, old, new, "isTooLarge"`,
  sql`select -o.eventid as position, ${EVENT} from rowpost.outbox o
    where o.tenantid = $1::int and o.eventid = any ($2::bigint[]) and o.time = any ($3::timestamptz[])`,
)}`;

const ONE = statement`
  select ${EVENT}, o.time::text as "storedTime", o.file::text as file from rowpost.outbox o
  where o.tenantid = $1::int and o.eventid = $2::bigint and o.target = any ($3::text[]) and o.operation = any ($4::text[])
  limit 1`;
