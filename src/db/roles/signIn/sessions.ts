import type { Pool } from 'pg';
import { insertInto } from '../../sql/sql.js';
import { runSql, type StatementRunner } from '../../sql/statementRunner.js';

/** A sign-in, to which its tokens belong. */
export interface NewSession {
  readonly sessionid: string;
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
  readonly atProvider?: SessionAtProvider | undefined;
}

/** What the ID token of the sign-in says of the session at the provider. */
export interface SessionAtProvider {
  /** SHA-256 */
  readonly sidHash: Buffer | null;
  readonly subHash: Buffer | null;
  readonly issuedAtMs: number;
  /** When the person signed in there; undefined if it does not say so. */
  readonly authTimeMs: number | undefined;
  /** Null if the provider is not asked to sign out. */
  readonly idTokenEncrypted: string | null;
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

/** Also deletes expired sessions. */
export async function insertSession(db: StatementRunner, session: NewSession): Promise<void> {
  await db.query(
    `delete from rowpost.session where sessionid in (
       select sessionid from rowpost.session where expires < now() - ${MARGIN} limit $1 for update skip locked)`,
    [SWEPT],
  );
  const { atProvider } = session;
  const { sessionid, tenantid, roleid, confid, browser, address } = session;
  await runSql(
    db,
    insertInto('session', {
      ...{ sessionid, tenantid, roleid, confid, browser, address },
      is_console: session.isConsole,
      since: new Date(session.sinceMs),
      state_ms: session.stateMs,
      expires: new Date(session.expiresAtMs),
      provider_sid: atProvider?.sidHash,
      provider_sub: atProvider?.subHash,
      id_token_issued: atProvider && new Date(atProvider.issuedAtMs),
      id_token_encrypted: atProvider?.idTokenEncrypted,
      authenticated: atProvider?.authTimeMs === undefined ? null : new Date(atProvider.authTimeMs),
    }),
  );
}

/** Clocks of providers may be ahead: as much is tolerated of their ID tokens. */
const TOLERANCE_SECONDS = 60;

/**
 * Lets sessions of a configuration, or one, end at the maximum age that the configuration has now. A session counts as ended
 * from then on, and is kept for as long as tokens that were got with one of its tokens may be: `accessTokenSeconds` longer.
 */
export async function limitSessions(
  db: StatementRunner,
  {
    confid,
    sessionid = null,
    accessTokenSeconds,
  }: { readonly confid: number; readonly sessionid?: string | null; readonly accessTokenSeconds: number },
): Promise<void> {
  await db.query(
    // Locked, so that a session that begins while the age changes has the new one.
    `update rowpost.session s set
       ends = coalesce(s.authenticated, s.since) + make_interval(secs => c.max_session_age + ${TOLERANCE_SECONDS}),
       expires = case when s.ends is null and c.max_session_age is not null
         then greatest(s.expires, now()) + make_interval(secs => $3::int) else s.expires end
     from (select confid, max_session_age from rowpost.oidc_config where confid = $1 for share) c
     where s.confid = c.confid and s.ended is null and ($2::uuid is null or s.sessionid = $2)
       and (s.ends is not null or c.max_session_age is not null)`,
    [confid, sessionid, accessTokenSeconds],
  );
}

/** Of a session s. */
export const IS_OPEN = '(s.ended is null and (s.ends is null or s.ends > now()))';
/** Its opposite, for an index of each. */
const HAS_ENDED = '(s.ended is not null or s.ends <= now())';

/** The session gets new tokens. @returns whether it may: it has not ended */
export async function renewSession(
  db: StatementRunner,
  { tenantid, sessionid }: SessionKey,
  { browser, address, expiresAtMs }: Pick<NewSession, 'browser' | 'address' | 'expiresAtMs'>,
  accessTokenSeconds: number,
): Promise<boolean> {
  const { rowCount } = await db.query(
    `update rowpost.session s
     set last_used = now(), browser = $3, address = $4, expires = greatest(s.expires, $5::timestamptz
       + make_interval(secs => case when s.ends is null then 0 else $6::int end))
     where s.tenantid = $1 and s.sessionid = $2 and ${IS_OPEN}`,
    [tenantid, sessionid, browser, address, new Date(expiresAtMs), accessTokenSeconds],
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
    where s.roleid = r.roleid and ${HAS_ENDED} and not s.is_console and s.expires > now() - ${MARGIN}
    limit ${MAX_ENDED + 1}) e)`;

export async function hasSessionEnded(
  db: StatementRunner,
  { tenantid, sessionid }: SessionKey,
): Promise<boolean> {
  const { rows } = await db.query(
    `select from rowpost.session s where s.tenantid = $1 and s.sessionid = $2 and ${HAS_ENDED}`,
    [tenantid, sessionid],
  );
  return rows.length > 0;
}

/** Of a session that has ended. */
export interface EndedSession {
  readonly tenantid: number;
  readonly roleid: number;
  readonly sessionid: string;
  readonly confid: number | null;
  /** Null if the provider is not asked to sign out. */
  readonly idTokenEncrypted: string | null;
}

/** `$1` is the longest lifetime, in seconds, of a token that was got with one of the session's. */
const ENDED_NOW =
  'ended = now(), id_token_encrypted = null, expires = greatest(s.expires, now() + make_interval(secs => $1::int))';

/**
 * Ends a session: it gets no more tokens, and those that it has are dead within a second, on every process.
 * @param accessTokenSeconds the longest lifetime of a token that was got with one of its tokens
 * @returns undefined if there is none, or it has ended
 */
export async function endSession(
  db: StatementRunner,
  { tenantid, sessionid }: SessionKey,
  accessTokenSeconds: number,
): Promise<EndedSession | undefined> {
  const { rows } = await db.query<EndedSession>(
    `update rowpost.session s set ${ENDED_NOW}
     from (select sessionid, id_token_encrypted from rowpost.session where tenantid = $2 and sessionid = $3 for update) was
     where s.sessionid = was.sessionid and s.ended is null
     returning s.tenantid, s.roleid, s.sessionid, s.confid, was.id_token_encrypted as "idTokenEncrypted"`,
    [accessTokenSeconds, tenantid, sessionid],
  );
  return rows[0];
}

/** Ends all sessions of a role, or all but one, as `endSession` does. @returns how many */
export async function endOtherSessions(
  db: StatementRunner,
  {
    tenantid,
    roleid,
    sessionid = null,
  }: { readonly tenantid: number; readonly roleid: number; readonly sessionid?: string | null | undefined },
  accessTokenSeconds: number,
): Promise<number> {
  const { rowCount } = await db.query(
    `update rowpost.session s set ${ENDED_NOW}
     where s.tenantid = $2 and s.roleid = $3 and s.sessionid is distinct from $4 and ${IS_OPEN} and s.expires > now()`,
    [accessTokenSeconds, tenantid, roleid, sessionid],
  );
  return rowCount ?? 0;
}

/** A verified logout token, for configurations whose client it names. */
export interface ProviderLogout {
  readonly confids: readonly number[];
  /** SHA-256 */
  readonly jtiHash: Buffer;
  readonly sidHash: Buffer | null;
  readonly subHash: Buffer | null;
  readonly issuedAtMs: number;
}

/** Sign-ins that began before it are over by then, and the token itself is too old. */
const LOGOUT_SECONDS = 1_800;
/** Maximum number of expired ones deleted with each new one: more than most add. */
const LOGOUTS_SWEPT = 1_000;

/** @returns whether it counts: false if it came before */
export async function recordLogout(
  db: StatementRunner,
  { confids, jtiHash, sidHash, subHash, issuedAtMs }: ProviderLogout,
): Promise<boolean> {
  await db.query(
    `delete from rowpost.oidc_logout where (confid, jti_hash) in (
       select confid, jti_hash from rowpost.oidc_logout where expires < now() limit $1 for update skip locked)`,
    [LOGOUTS_SWEPT],
  );
  // One that was recorded by a process that then died still has to end the sessions.
  const { rows } = await db.query<{ done: boolean }>(
    `insert into rowpost.oidc_logout as l (confid, jti_hash, sid_hash, sub_hash, issued, expires)
     select confid, $2, $3, $4, $5, now() + interval '${LOGOUT_SECONDS} seconds' from unnest($1::int[]) c(confid) order by confid
     on conflict (confid, jti_hash) do update set jti_hash = excluded.jti_hash returning l.done`,
    [[...confids], jtiHash, sidHash, subHash, new Date(issuedAtMs)],
  );
  return rows.some(({ done }) => !done);
}

/** Whether the session s is one that the logout l ends: by sid or, where one of them has none, by sub. */
const IS_OF_LOGOUT = `l.confid = s.confid and (
  s.provider_sid = l.sid_hash and (l.sub_hash is null or s.provider_sub = l.sub_hash)
  or (s.provider_sid is null or l.sid_hash is null) and s.provider_sub = l.sub_hash and s.id_token_issued <= l.issued)`;

/** A person may have any number of sessions. */
const ENDED_AT_ONCE = 1_000;

/** Yields the sessions that it ended. */
export async function* endSessionsOfLogout(
  db: StatementRunner,
  { confids, jtiHash }: Pick<ProviderLogout, 'confids' | 'jtiHash'>,
  accessTokenSeconds: number,
): AsyncGenerator<readonly EndedSession[], void> {
  for (;;) {
    const { rows } = await db.query<EndedSession>(
      `with chosen as (
         select s.sessionid from rowpost.session s, rowpost.oidc_logout l
         where l.confid = any ($2) and l.jti_hash = $3 and ${IS_OF_LOGOUT} and s.ended is null
         limit ${ENDED_AT_ONCE} for update of s)
       update rowpost.session s set ${ENDED_NOW} from chosen where s.sessionid = chosen.sessionid
       returning s.tenantid, s.roleid, s.sessionid, s.confid, null as "idTokenEncrypted"`,
      [accessTokenSeconds, [...confids], jtiHash],
    );
    if (rows.length === 0) break;
    yield rows;
  }
  await db.query('update rowpost.oidc_logout set done = true where confid = any ($1) and jti_hash = $2', [
    [...confids],
    jtiHash,
  ]);
}

/**
 * Ends a session that has just begun if its provider has already said that it ended. A statement after the insertion, as the
 * logout's is after its own: one of the two sees the other. @returns whether it did
 */
export async function endIfLoggedOut(db: StatementRunner, sessionid: string): Promise<boolean> {
  const { rowCount } = await db.query(
    `update rowpost.session s set ended = now(), id_token_encrypted = null from rowpost.oidc_logout l
     where s.sessionid = $1 and ${IS_OF_LOGOUT} and s.ended is null`,
    [sessionid],
  );
  return rowCount !== 0;
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
  readonly ends: string | null;
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
       'provider', p.name, 'since', s.since, 'last_used', s.last_used, 'ends', s.ends, 'browser', s.browser, 'address', s.address) as session
     from rowpost.session s
       left join rowpost.oidc_config c on c.tenantid = s.tenantid and c.confid = s.confid
       left join rowpost.oidc_providers p using (providerid)
     where s.tenantid = $1 and s.roleid = $2 and ${IS_OPEN} and s.expires > now() and s.state_ms >= $3
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
    `select s.roleid from rowpost.session s
     where s.tenantid = $1 and s.sessionid = $2 and ${IS_OPEN} and s.expires > now()`,
    [tenantid, sessionid],
  );
  return rows[0]?.roleid;
}

/** Stores when sessions and API keys were last used. */
export async function storeSessionUses(pool: Pool, usedAtMs: ReadonlyMap<string, number>): Promise<void> {
  const values = [[...usedAtMs.keys()], [...usedAtMs.values()].map((ms) => new Date(ms))];
  await pool.query(
    `update rowpost.api_key k set last_used = u.used
     from (
       select a.keyid, g.used
       from unnest($1::uuid[], $2::timestamptz[]) g(keyid, used) join rowpost.api_key a using (keyid)
       where a.last_used is null or a.last_used < g.used order by a.keyid for no key update of a) u
     where k.keyid = u.keyid`,
    values,
  );
  await pool.query(
    // In the order of the ids, so that two processes don't deadlock.
    `update rowpost.session s set last_used = u.used
     from (
       select k.sessionid, g.used
       from unnest($1::uuid[], $2::timestamptz[]) g(sessionid, used) join rowpost.session k using (sessionid)
       where k.last_used < g.used order by k.sessionid for no key update of k) u
     where s.sessionid = u.sessionid`,
    values,
  );
}
