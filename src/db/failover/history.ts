import type { Pool } from 'pg';
import type { Logger } from '../../foundation/observability/log.js';
import { historyChanges, postgresFailures } from '../../foundation/observability/metrics.js';
import { startOutage } from '../../foundation/observability/outage.js';
import { pollEvery } from '../../foundation/lifecycle/pollEvery.js';
import type { Stoppable } from '../../foundation/lifecycle/shutdown.js';
import { sql, statement, type Sql, type SqlText } from '../sql/sql.js';

/**
 * - `replaced`: another database responds, e.g. a dump was restored in its place.
 * - `promoted`: a standby took over. If it was behind, what it lacked is lost.
 * - `rewound`: PostgreSQL has written less than it had, e.g. an older backup lies in its place.
 */
export type HistoryChange = 'replaced' | 'promoted' | 'rewound';

/** Detects that PostgreSQL may have lost data that it had. */
export interface HistoryWatch extends Stoppable {
  /** @param listener clears the process's caches of the database */
  onChange(listener: () => void): void;
}

/** PostgreSQL's position in its write-ahead log, and which log that is. */
export interface HistoryPosition {
  /** Identifies the cluster, the database and its tables. */
  readonly identity: string;
  readonly timeline: string;
  /** Flushed WAL, in bytes: within a history it only grows. */
  readonly walBytes: bigint;
}

const INTERVAL_MS = 1_000;

const WORDS: Readonly<Record<HistoryChange, string>> = {
  replaced: 'the database has been replaced by another one',
  promoted: 'failover: changes that were not replicated yet are lost',
  rewound: 'PostgreSQL was rewound to an earlier point; later changes are lost',
};

/** Single-use values must not rely on this, since it takes seconds to notice. See docs/explanation/guarantees.md. */
export function watchHistory({ pool, log }: { readonly pool: Pool; readonly log: Logger }): HistoryWatch {
  const listeners: (() => void)[] = [];
  const read = createPositionReader(pool);
  let seen: HistoryPosition | undefined;
  const outage = startOutage(log, 'PostgreSQL');

  const poll = async (): Promise<void> => {
    const position = await read();
    outage.recovered();
    // Standbys are ignored, and a database whose first release is under way.
    if (!position) return;
    const change = seen && compareHistory(seen, position);
    if (change) {
      historyChanges.inc({ change });
      log.error(
        { change },
        `${WORDS[change]}; everything that is still there will be delivered, some of it again`,
      );
      for (const listener of listeners) listener();
    }
    seen = position;
  };
  const polling = pollEvery(INTERVAL_MS, () =>
    poll().catch((error: unknown) => {
      postgresFailures.inc();
      outage.failed(error);
    }),
  );
  return { onChange: (listener) => void listeners.push(listener), stop: () => polling.stop() };
}

/** @returns undefined if PostgreSQL continued from its previous position */
export function compareHistory(seen: HistoryPosition, now: HistoryPosition): HistoryChange | undefined {
  if (now.identity !== seen.identity) return 'replaced';
  if (now.timeline !== seen.timeline) return 'promoted';
  return now.walBytes < seen.walBytes ? 'rewound' : undefined;
}

/** @returns a function that reads the position; undefined while PostgreSQL is a standby, and before the first release */
export function createPositionReader(pool: Pool): () => Promise<HistoryPosition | undefined> {
  let chosen: SqlText | undefined;
  return async () => {
    chosen ??= await chooseStatement(pool);
    const { rows } = await pool.query<{ identity: string | null; timeline: string | null; bytes: string }>(
      chosen,
    );
    const [row] = rows;
    if (!row || row.identity === null || row.timeline === null) return undefined;
    return { identity: row.identity, timeline: row.timeline, walBytes: BigInt(row.bytes) };
  };
}

/** Managed PostgreSQL may not expose the system identifier. */
async function chooseStatement(pool: Pool): Promise<SqlText> {
  const { rows } = await pool.query<{ allowed: boolean }>(
    `select has_function_privilege('pg_catalog.pg_control_system()', 'execute') as allowed`,
  );
  return positionSql(
    rows[0]?.allowed === true ? sql`(select system_identifier from pg_catalog.pg_control_system())` : sql`''`,
  );
}

// The timeline is the first part of a WAL file's name; the control file has it only after the next checkpoint.
const positionSql = (system: Sql): SqlText => statement`
  select ${system} || '.' || (select oid from pg_catalog.pg_database where datname = current_database())
      || '.' || to_regclass('rowpost.relay_poll')::oid as identity,
    case when not pg_is_in_recovery() then substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8) end as timeline,
    case when not pg_is_in_recovery() then pg_current_wal_flush_lsn() - '0/0'::pg_lsn else 0 end::text as bytes`;
