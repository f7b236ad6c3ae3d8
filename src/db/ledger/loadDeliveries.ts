import type { DeliveryKey, KnownDelivery } from './deliveryKey.js';
import type { Ledger } from '../pool/ledgerPool.js';
import type { EncryptedAccounts } from '../email/emailAccounts.js';
import { TYPE_VERSION } from '../email/emailTypes.js';
import { isMovedSql } from './isMovedSql.js';
import { columnsOf, sameDelivery, wantedSql } from './manyDeliveries.js';
import { quickRecordColumnsSql, recordColumnsSql } from '../outbox/recordSize.js';
import { timeRange } from './timeRange.js';
import { STATE } from './track.js';
import { sql, statement, type Sql } from '../sql/sql.js';

export type DeliveryState =
  'pending' | 'sending' | 'retrying' | 'paused' | 'sent' | 'failed' | 'skipped' | 'unknown';

export type DeliveryPolicy = 'at_least_once' | 'at_most_once';

/** A delivery with everything needed to send it except the email type's texts. */
export interface LoadedDelivery extends KnownDelivery {
  readonly ruleid: string;
  readonly state: DeliveryState;
  /** See `trackDeliveries`. */
  readonly tracked: boolean;
  readonly attempts: number;
  /** Consecutive attempts that ended with their process. */
  readonly lost: number;
  readonly policy: DeliveryPolicy;
  readonly operation: string;
  readonly target: string;
  readonly emailType: string;
  /** Changes with every update of the email type; null when the type was deleted. */
  readonly typeVersion: string | null;
  /** The role that the type's queries run as; null when the rule was deleted. */
  readonly queryRoleid: number | null;
  /** The row before and after, as JSON text; null where there is none, or with `recordBytes`. */
  readonly old: string | null;
  readonly new: string | null;
  /** The uploaded file, as JSON text. */
  readonly file: string | null;
  /** The trace of the change, as its writer gave it: not checked. */
  readonly traceparent: string | null;
  /** The row is over the size limit: `old` or `new` is null because of that. */
  readonly isTooLarge: boolean;
  /** Bytes of `old` and `new` if they are large and have to be loaded by `loadRecord`, otherwise 0. */
  readonly recordBytes: number;
  /** Null when retention has removed the event. */
  readonly eventid: string | null;
  /** Whether the tenant has suppressed addresses. */
  readonly hasSuppressions: boolean;
  /** Null when the tenant has set neither key nor account. */
  readonly accounts: StoredAccounts | null;
}

/** What a tenant sends by, and whether it may. */
export interface StoredAccounts extends EncryptedAccounts {
  readonly version: number;
  /** Why the tenant is paused; null when it is not. */
  readonly pausedCode: string | null;
  /** When the carrier's rate limit ends, in milliseconds since the epoch; null when not rate limited. */
  readonly waitUntilMs: number | null;
}

/** @returns deliveries in the order of `keys`; undefined for one that no longer exists, or whose tenant is handed over. */
export async function loadDeliveries(
  ledger: Ledger,
  keys: readonly DeliveryKey[],
): Promise<readonly (LoadedDelivery | undefined)[]> {
  const rows = await ledger.query<LoadedDelivery & { position: number }>(LOAD, [
    ...columnsOf(keys),
    ...timeRange(keys.map((key) => key.createtime)),
  ]);
  const byPosition = new Map(rows.map(({ position, ...row }) => [position, row]));
  return keys.map((_, index) => byPosition.get(index + 1));
}

/** The row before and after, as JSON text; null where there is none. */
export type LoadedRecord = Pick<LoadedDelivery, 'old' | 'new'>;

/** @returns undefined when retention has removed the event */
export async function loadRecord(
  ledger: Ledger,
  { tenantid, eventid, createtime }: LoadedDelivery,
): Promise<LoadedRecord | undefined> {
  const rows = await ledger.query<LoadedRecord>(RECORD, [tenantid, eventid, createtime]);
  return rows[0];
}

const RECORD = {
  name: 'delivery_record',
  text: statement`
    select ${recordColumnsSql(sql`o`)} from rowpost.outbox o
    where o.tenantid = $1::int and o.eventid = $2::bigint and o.time = $3::timestamptz`,
};

/**
 * SQL: the columns of `LoadedDelivery` without `state`, of a delivery `d` with `tenantJoins`.
 * @param event the row of its event @param queryRoleid SQL
 */
export const loadedColumns = (event: Sql, queryRoleid: Sql): Sql => sql`
  d.tenantid, d.deliveryid::text as deliveryid, d.createtime::text as createtime, d.ruleid::text as ruleid,
  d.tracked, d.attempts, d.starts, d.lost, d.delivery as policy, d.operation, d.target, d.email_type as "emailType",
  ${queryRoleid} as "queryRoleid", ${quickRecordColumnsSql(event)}, ${event}.file::text as file, ${event}.traceparent,
  ${event}.eventid::text as eventid, ${TYPE_VERSION} as "typeVersion", sup.listed is not null as "hasSuppressions",
  case when k.tenantid is not null then json_build_object('apikeyEncrypted', k.apikey_encrypted,
    'accountsEncrypted', k.accounts_encrypted, 'version', k.version, 'pausedCode', k.paused_code, 'waitUntilMs',
    case when k.wait_until > now() then extract(epoch from k.wait_until)::float8 * 1000 end) end as accounts`;

/** @param tenantid SQL; where null, nothing is looked up */
export const tenantJoins = (tenantid: Sql): Sql => sql`
  left join rowpost.email_types t on t.tenantid = ${tenantid} and t.email_type = d.email_type
  left join rowpost.email_apikey k on k.tenantid = ${tenantid}
  left join lateral (select true as listed from rowpost.email_suppression s
    where s.tenantid = ${tenantid} and s.removetime is null limit 1) sup on true`;

/** Partition pruning; see `timeRange`. */
const inPartitions = (time: Sql): Sql => sql`${time} between $4::timestamptz and $5::timestamptz`;

const LOAD = {
  name: 'delivery_load',
  text: statement`
    select w.position::int as position, ${STATE} as state, ${loadedColumns(sql`o`, sql`r.query_roleid`)}
    from ${wantedSql()}
      cross join lateral (select * from rowpost.delivery d
        where ${sameDelivery(sql`d`, sql`w`)}
          and ${inPartitions(sql`d.createtime`)} and not ${isMovedSql(sql`w`)}
        limit 1) d
      left join lateral (select s.deliveryid from rowpost.delivery_start s
        where not d.tracked and ${sameDelivery(sql`s`, sql`d`)}
          and ${inPartitions(sql`s.createtime`)}
        limit 1) s on true
      left join lateral (select a.attempt from rowpost.email_attempt a
        where not d.tracked and a.attempt = 1
          and ${sameDelivery(sql`a`, sql`d`)}
          and ${inPartitions(sql`a.createtime`)}
        limit 1) a on true
      left join lateral (select o.eventid, o.old, o.new, o.file, o.traceparent from rowpost.outbox o
        where o.tenantid = d.tenantid and o.eventid = d.eventid and o.time = d.createtime and ${inPartitions(sql`o.time`)}
        limit 1) o on true
      left join rowpost.email_rule r on r.ruleid = d.ruleid and r.tenantid = d.tenantid
      ${tenantJoins(sql`d.tenantid`)}`,
};
