import type { Pool } from 'pg';
import type { StatementRunner } from '../../sql/statementRunner.js';

/** A sign-in, to which its tokens belong. */
export interface NewSession {
  readonly tenantid: number;
  readonly roleid: number;
  /** Of the console, which gives no tokens away. */
  readonly isConsole: boolean;
  /** The configuration of the provider; null for a password. */
  readonly confid: number | null;
  readonly sinceMs: number;
  readonly browser: string;
  readonly address: string;
  /** `Principal.tokensValidFromMs` at the sign-in. */
  readonly stateMs: number;
  /** When its last token does. */
  readonly expiresAtMs: number;
}

/** Whose session, of which tenant. */
export interface SessionKey {
  readonly tenantid: number;
  readonly sessionid: string;
}

/** Kept for longer than needed, because clocks differ. */
const MARGIN = "interval '1 hour'";
/** Maximum number of expired sessions deleted with each new one. */
const SWEPT = 100;

/** Also deletes expired sessions. @returns its id */
export async function insertSession(db: StatementRunner, session: NewSession): Promise<string> {
  await db.query(
    `delete from rowpost.session where sessionid in (
       select sessionid from rowpost.session where expires < now() - ${MARGIN} limit $1 for update skip locked)`,
    [SWEPT],
  );
  const { rows } = await db.query<{ sessionid: string }>(
    `insert into rowpost.session (tenantid, roleid, is_console, confid, since, browser, address, state_ms, expires)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9) returning sessionid`,
    [
      session.tenantid,
      session.roleid,
      session.isConsole,
      session.confid,
      new Date(session.sinceMs),
      session.browser,
      session.address,
      session.stateMs,
      new Date(session.expiresAtMs),
    ],
  );
  const [row] = rows;
  if (!row) throw new Error('a session was not inserted');
  return row.sessionid;
}

/** The session gets new tokens. @returns whether it may: it has not ended */
export async function renewSession(
  db: StatementRunner,
  { tenantid, sessionid }: SessionKey,
  { browser, address, expiresAtMs }: Pick<NewSession, 'browser' | 'address' | 'expiresAtMs'>,
): Promise<boolean> {
  const { rowCount } = await db.query(
    `update rowpost.session
     set last_used = now(), browser = $3, address = $4, expires = greatest(expires, $5::timestamptz)
     where tenantid = $1 and sessionid = $2 and ended is null`,
    [tenantid, sessionid, browser, address, new Date(expiresAtMs)],
  );
  return rowCount === 1;
}

/** Sessions that ended, of one role, that are read with it. Of a role with more, each token's is looked up. */
export const MAX_ENDED = 1_000;

/** An array of the ended sessions whose access tokens may not have expired, of a row of `rowpost.role`, as `r`; null if they are more. */
export const ENDED_SESSIONS = `(
  select case when count(*) <= ${MAX_ENDED} then coalesce(array_agg(e.sessionid::text), '{}') end
  from (
    select s.sessionid from rowpost.session s
    where s.roleid = r.roleid and s.ended is not null and not s.is_console and s.expires > now() - ${MARGIN}
    limit ${MAX_ENDED + 1}) e)`;

export async function hasSessionEnded(
  db: StatementRunner,
  { tenantid, sessionid }: SessionKey,
): Promise<boolean> {
  const { rows } = await db.query(
    'select from rowpost.session where tenantid = $1 and sessionid = $2 and ended is not null',
    [tenantid, sessionid],
  );
  return rows.length > 0;
}

/**
 * Ends a session: it gets no more tokens, and those that it has are dead within a second, on every process.
 * @param accessTokenSeconds the longest lifetime of a token that was got with one of its tokens
 * @returns whether there was one
 */
export async function endSession(
  db: StatementRunner,
  { tenantid, sessionid }: SessionKey,
  accessTokenSeconds: number,
): Promise<boolean> {
  const { rowCount } = await db.query(
    `update rowpost.session
     set ended = now(), expires = greatest(expires, now() + make_interval(secs => $3::int))
     where tenantid = $1 and sessionid = $2 and ended is null`,
    [tenantid, sessionid, accessTokenSeconds],
  );
  return rowCount === 1;
}

/** A session as its role sees it. */
export interface Session {
  readonly sessionid: string;
  readonly roleid: number;
  readonly is_console: boolean;
  readonly confid: number | null;
  readonly provider: string | null;
  readonly since: string;
  readonly last_used: string;
  readonly browser: string;
  readonly address: string;
}

/** Those shown of a role. */
const MAX_LISTED = 200;

/** The role's sessions, those used last first. */
export async function listSessions(
  db: StatementRunner,
  tenantid: number,
  roleid: number,
  tokensValidFromMs: number,
): Promise<readonly Session[]> {
  const { rows } = await db.query<{ session: Session }>(
    `select json_build_object('sessionid', s.sessionid, 'roleid', s.roleid, 'is_console', s.is_console, 'confid', s.confid,
       'provider', p.name, 'since', s.since, 'last_used', s.last_used, 'browser', s.browser, 'address', s.address) as session
     from rowpost.session s
       left join rowpost.oidc_config c on c.tenantid = s.tenantid and c.confid = s.confid
       left join rowpost.oidc_providers p using (providerid)
     where s.tenantid = $1 and s.roleid = $2 and s.ended is null and s.expires > now() and s.state_ms >= $3
     order by s.last_used desc, s.sessionid limit ${MAX_LISTED}`,
    [tenantid, roleid, tokensValidFromMs],
  );
  return rows.map(({ session }) => session);
}

/** Whose session it is. @returns undefined if it has ended, or the tenant has none with this id */
export async function readSessionRole(
  db: StatementRunner,
  { tenantid, sessionid }: SessionKey,
): Promise<number | undefined> {
  const { rows } = await db.query<{ roleid: number }>(
    'select roleid from rowpost.session where tenantid = $1 and sessionid = $2 and ended is null and expires > now()',
    [tenantid, sessionid],
  );
  return rows[0]?.roleid;
}

/** Stores when sessions were last used. */
export async function storeSessionUses(pool: Pool, usedAtMs: ReadonlyMap<string, number>): Promise<void> {
  await pool.query(
    // In the order of the ids, so that two processes don't deadlock.
    `update rowpost.session s set last_used = u.used
     from (
       select k.sessionid, g.used
       from unnest($1::uuid[], $2::timestamptz[]) g(sessionid, used) join rowpost.session k using (sessionid)
       where k.last_used < g.used order by k.sessionid for no key update of k) u
     where s.sessionid = u.sessionid`,
    [[...usedAtMs.keys()], [...usedAtMs.values()].map((ms) => new Date(ms))],
  );
}
