import type { StatementRunner } from '../../sql/statementRunner.js';
import { IS_OPEN } from './sessions.js';

export interface ConsoleSessionKey {
  readonly tenantid: number;
  /** Undefined if the previous release began it. */
  readonly sessionid: string | undefined;
}

/**
 * Whether a session of the console is open. The previous release, which may be running, ends them by their tokens.
 * @param tokenHash SHA-256 of the session's token
 */
export async function isConsoleSessionOpen(
  db: StatementRunner,
  tokenHash: Buffer,
  { tenantid, sessionid }: ConsoleSessionKey,
): Promise<boolean> {
  const { rows } = await db.query<{ open: boolean }>(
    `select not exists (select from rowpost.ended_session where token_hash = $1)
       and ($3::uuid is null or exists (
         select from rowpost.session s where s.tenantid = $2 and s.sessionid = $3 and ${IS_OPEN})) as open`,
    [tokenHash, tenantid, sessionid],
  );
  return rows[0]?.open === true;
}

interface EndedSession {
  readonly tokenHash: Buffer;
  readonly tenantid: number;
  /** When its token would have expired. */
  readonly expiresAtMs: number;
}

/** Kept for longer than needed, because clocks differ. */
const MARGIN_MS = 3_600_000;

/** Ends a session that the previous release began, on every process. Those whose tokens have expired are forgotten. */
export async function endUnlistedSession(
  db: StatementRunner,
  { tokenHash, tenantid, expiresAtMs }: EndedSession,
): Promise<void> {
  await db.query('delete from rowpost.ended_session where expires < now()');
  await db.query(
    'insert into rowpost.ended_session (token_hash, tenantid, expires) values ($1, $2, $3) on conflict (token_hash) do nothing',
    [tokenHash, tenantid, new Date(expiresAtMs + MARGIN_MS)],
  );
}
