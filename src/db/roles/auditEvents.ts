import type { Pool } from 'pg';
import { pruneOldRows } from '../pool/pruneOldRows.js';
import { insertInto } from '../sql/sql.js';
import { runSql, type StatementRunner } from '../sql/statementRunner.js';

/** How long they are kept. */
export const AUDIT_EVENT_DAYS = 365;

/** A change that a role made, by the names of the columns. */
export interface AuditEvent {
  readonly tenantid: number;
  readonly roleid: number;
  readonly login: string | null;
  /** The roles that acted as it, by `Utility.role_token`. */
  readonly actors: readonly number[];
  /** The API key that it was made with. */
  readonly keyid: string | null;
  readonly object: string;
  readonly key: string | null;
  readonly operation: string;
  /** The JSON of a list of `{column, before, after}`. */
  readonly changes: string;
}

/** Pass the transaction of the change. */
export async function insertAuditEvent(db: StatementRunner, event: AuditEvent): Promise<void> {
  await runSql(db, insertInto('audit_event', { ...event }));
}

/** How many changes a role has made within an hour; no more than `most` are counted. */
export async function countRecentChanges(
  db: StatementRunner,
  { tenantid, roleid }: Pick<AuditEvent, 'tenantid' | 'roleid'>,
  most: number,
): Promise<number> {
  const { rows } = await db.query<{ changes: number }>(
    `select count(*)::int as changes from (
       select from rowpost.audit_event
       where tenantid = $1 and roleid = $2 and time > now() - interval '1 hour' limit $3) recent`,
    [tenantid, roleid, most],
  );
  return rows[0]?.changes ?? 0;
}

/** Deletes old events. Safe to run concurrently. Throws what pg throws. */
export function pruneAuditEvents(pool: Pool, days: number): Promise<void> {
  return pruneOldRows(pool, { table: 'audit_event', time: 'time', days });
}
