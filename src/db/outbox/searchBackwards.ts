import type { EventKey } from '../failover/replica.js';
import type { TransactionClient } from '../pool/inTransaction.js';
import { sql, type Sql, type SqlText } from '../sql/sql.js';

export interface FoundEvents {
  /** Newest first; one more than the limit, at least, if there are more. */
  readonly found: readonly EventKey[];
  /** How far back was searched, as ISO 8601; null for all of the outbox. */
  readonly searchedSince: string | null;
}

/** What a statement of `pageSql` returns. */
interface Page {
  readonly last: string | null;
  readonly since: string | null;
  readonly found: readonly EventKey[];
}

/**
 * Statistics of partitions that fill within hours are stale: the newest page is read by the key, not by a sort of all.
 */
const READ_BACKWARDS =
  'set transaction isolation level repeatable read read only; set local enable_seqscan = off';

/**
 * Begins a transaction and scans the outbox backwards in it, for up to `searchMs`, until one more event is found than the limit.
 * @param page the text of `pageSql`, with its parameters from $2 on
 */
export async function searchBackwards(
  client: TransactionClient,
  page: SqlText,
  parameters: readonly unknown[],
  limits: { readonly events: number; readonly searchMs: number },
): Promise<FoundEvents> {
  await client.query(READ_BACKWARDS);
  const endMs = performance.now() + limits.searchMs;
  const found: EventKey[] = [];
  let below = MAX_BIGINT;
  for (;;) {
    const { rows } = await client.query<Page>(page, [below, ...parameters]);
    const [read] = rows;
    found.push(...(read?.found ?? []));
    if (read?.last == null) return { found, searchedSince: null };
    if (found.length > limits.events || performance.now() > endMs)
      return { found, searchedSince: read.since };
    below = read.last;
  }
}

const MAX_BIGINT = '9223372036854775807';
const PAGE_SIZE = 20_000;

export const ISO = (time: Sql): Sql => sql`to_json(${time}) #>> '{}'`;

/**
 * SQL: reads a page of all events below $1, and finds those that are wanted.
 * @param columns those of the outbox that `wanted` names, besides tenantid and target
 * @param wanted the condition, with parameters from $2 on
 */
export const pageSql = (columns: Sql, wanted: Sql): Sql => sql`
  with page as materialized (
    select eventid, time, tenantid, target, ${columns} from rowpost.outbox
    where eventid < $1::bigint order by eventid desc limit ${PAGE_SIZE}
  )
  select (select case when count(*) = ${PAGE_SIZE} then min(eventid)::text end from page) as last,
    (select ${ISO(sql`min(time)`)} from page) as since,
    coalesce((select json_agg(json_build_object('eventid', eventid::text, 'time', time::text) order by eventid desc) from page
      where ${wanted}), '[]') as found`;
