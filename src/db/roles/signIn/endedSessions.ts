import type { StatementRunner } from '../../sql/statementRunner.js';

/** @param tokenHash SHA-256 of the session's token */
export async function isSessionEnded(db: StatementRunner, tokenHash: Buffer): Promise<boolean> {
  const { rows } = await db.query('select from rowpost.ended_session where token_hash = $1', [tokenHash]);
  return rows.length > 0;
}

interface EndedSession {
  readonly tokenHash: Buffer;
  readonly tenantid: number;
  /** When its token would have expired. */
  readonly expiresAtMs: number;
}

/** Kept for longer than needed, because clocks differ. */
const MARGIN_MS = 3_600_000;

/** Ends a session on every process. Those whose tokens have expired are forgotten. */
export async function endSession(
  db: StatementRunner,
  { tokenHash, tenantid, expiresAtMs }: EndedSession,
): Promise<void> {
  await db.query('delete from rowpost.ended_session where expires < now()');
  await db.query(
    'insert into rowpost.ended_session (token_hash, tenantid, expires) values ($1, $2, $3) on conflict (token_hash) do nothing',
    [tokenHash, tenantid, new Date(expiresAtMs + MARGIN_MS)],
  );
}
