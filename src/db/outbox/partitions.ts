import { ownValue } from '../../foundation/ownValue.js';
import type { Ledger, LedgerStatement } from '../pool/ledgerPool.js';
import { LOCK_NOT_AVAILABLE, sqlState } from '../sql/sqlState.js';
import { identifier, sql, statement, textConstant, type Sql, type SqlText } from '../sql/sql.js';

/** Tables partitioned by day (UTC). */
const PARTITIONED = [
  'outbox',
  'relay_batch',
  'relay_batch_done',
  'relay_batch_start',
  'rule_firing',
  'delivery',
  'delivery_start',
  'email_attempt',
  'email_event',
  'email_recipient',
  'sent_mail',
] as const;

/** Firings are needed for minutes only, but have as many rows as deliveries. */
const FIRING_DAYS = 1;

const DAY_MS = 24 * 3600 * 1000;

/**
 * Creates missing partitions for today and the days ahead. A day that already has rows in the default partition stays
 * there. @returns the names of the new partitions.
 */
export async function makePartitions(
  ledger: Ledger,
  nowMs: number,
  daysAhead: number,
): Promise<readonly string[]> {
  const existing = new Set((await listPartitions(ledger)).map((partition) => partition.name));
  const made: string[] = [];
  for (let day = 0; day <= daysAhead; day++) {
    const from = startOfDay(nowMs + day * DAY_MS);
    const to = startOfDay(nowMs + (day + 1) * DAY_MS);
    for (const table of PARTITIONED) {
      const name = `${table}_${from.replaceAll('-', '')}`;
      if (existing.has(name)) continue;
      const create = statement`create table if not exists ${identifier('rowpost', name)} partition of ${identifier('rowpost', table)}
        for values from (${midnight(from)}) to (${midnight(to)})`;
      if (await changePartition(ledger, create)) made.push(name);
    }
  }
  return made;
}

const CHECK_VIOLATION = '23514';

/**
 * Creates or drops a partition, with a short timeout: a long-running transaction, such as a tenant's, must not delay the
 * other tables. @returns false if the table is in use, or the day has rows in the default partition
 */
async function changePartition(ledger: Ledger, text: SqlText): Promise<boolean> {
  try {
    await ledger.transaction([
      [MAINTENANCE_LOCK, []],
      [LOCK_TIMEOUT, []],
      [{ text }, []],
    ]);
    return true;
  } catch (error) {
    if ([CHECK_VIOLATION, LOCK_NOT_AVAILABLE].includes(sqlState(error) ?? '')) return false;
    throw error;
  }
}

export interface RetentionDays {
  readonly retentionDays: number;
  /** For kept emails; at most `retentionDays`. */
  readonly keepEmailDays: number;
}

/**
 * Drops partitions past their retention and deletes such rows from the default partitions. A table in use
 * is left to the next run. @returns the names dropped.
 */
export async function dropOldPartitions(
  ledger: Ledger,
  nowMs: number,
  { retentionDays, keepEmailDays }: RetentionDays,
): Promise<readonly string[]> {
  const oldestOf = (table: string): string => {
    const days = ownValue({ rule_firing: FIRING_DAYS, sent_mail: keepEmailDays }, table) ?? retentionDays;
    return startOfDay(nowMs - Math.min(days, retentionDays) * DAY_MS);
  };
  const dropped: string[] = [];
  for (const { name, table, day } of await listPartitions(ledger)) {
    if (day === null || day >= oldestOf(table).replaceAll('-', '')) continue;
    if (await changePartition(ledger, statement`drop table ${identifier('rowpost', name)}`))
      dropped.push(name);
  }
  for (const table of PARTITIONED) {
    const column = table === 'outbox' ? sql`time` : sql`createtime`;
    await ledger.query(
      {
        text: statement`delete from ${identifier('rowpost', `${table}_default`)} where ${column} < $1::timestamptz`,
      },
      [`${oldestOf(table)} 00:00:00+00`],
    );
  }
  return dropped;
}

/** Removes polls, sweeps and low-water marks older than an hour, except the newest of each. */
export async function prunePolls(ledger: Ledger): Promise<void> {
  await ledger.query(pruneSql('relay_poll', 'pollid'), []);
  await ledger.query(pruneSql('delivery_sweep', 'sweepid'), []);
  await ledger.query(pruneSql('relay_batch_mark', 'markid'), []);
}

const pruneSql = (name: string, column: string): LedgerStatement => {
  const [table, id] = [identifier('rowpost', name), identifier(column)];
  return {
    text: statement`delete from ${table} where time < now() - interval '1 hour' and ${id} < (select max(${id}) from ${table})`,
  };
};

// Serializes relays: one creates a partition, the others find it.
const MAINTENANCE_LOCK = {
  name: 'partition_one_relay',
  text: statement`lock table rowpost.maintenance_lock in share update exclusive mode`,
};

const LOCK_TIMEOUT = {
  name: 'partition_short_wait',
  text: statement`select set_config('lock_timeout', '300ms', true)`,
};

/** `day` is YYYYMMDD, null for a default partition. */
async function listPartitions(
  ledger: Ledger,
): Promise<readonly { name: string; table: string; day: string | null }[]> {
  return ledger.query(LIST_PARTITIONS, [PARTITIONED]);
}

const LIST_PARTITIONS = {
  name: 'partition_list',
  text: statement`
    select c.relname as name, p.relname as table, substring(c.relname from '_([0-9]{8})$') as day
    from pg_inherits i join pg_class c on c.oid = i.inhrelid join pg_class p on p.oid = i.inhparent
    where p.relnamespace = 'rowpost'::regnamespace and p.relname = any ($1::text[])
    order by c.relname`,
};

function midnight(date: string): Sql {
  return textConstant(`${date} 00:00:00+00`);
}

/** The date in UTC, YYYY-MM-DD. */
function startOfDay(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}
