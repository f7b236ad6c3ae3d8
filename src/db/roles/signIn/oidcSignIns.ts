import { insertInto, sql, value } from '../../sql/sql.js';
import { runSql, type StatementRunner } from '../../sql/statementRunner.js';

/**
 * A sign-in that waits for the provider. Holds only hashes and ciphertext, so reading the table is not enough to complete
 * one.
 */
export interface OidcSignIn {
  readonly tenantid: number;
  /** Null: that of the identity. */
  readonly roleid: number | null;
  readonly confid: number;
  readonly nonce: string;
  readonly code_verifier_encrypted: string;
  /** SHA-256 of the browser's cookie. */
  readonly browser_hash: Buffer;
  readonly return_to: string | null;
  /** Below BASE_URL. */
  readonly redirect_uri: string;
  /** The state of the role for which it began; null without a role. */
  readonly tokens_valid_from_ms: number | null;
  /** Of a trial, which signs nobody in: the session of the console that began it. */
  readonly trial_sessionid: string | null;
}

/** Maximum number of abandoned sign-ins deleted with each new one. */
const SWEPT = 100;

/**
 * Also deletes expired sign-ins.
 * @param stateHash SHA-256 of `state`
 */
export async function storeOidcSignIn(
  db: StatementRunner,
  stateHash: Buffer,
  signIn: OidcSignIn,
  lifetimeSeconds: number,
): Promise<void> {
  await db.query(
    `delete from rowpost.oidc_sign_in where state_hash in (
       select state_hash from rowpost.oidc_sign_in where expires < now() limit $1 for update skip locked)`,
    [SWEPT],
  );
  const expires = sql`now() + make_interval(secs => ${value(lifetimeSeconds)})`;
  await runSql(db, insertInto('oidc_sign_in', { ...signIn, state_hash: stateHash, expires }));
}

/**
 * Removes a sign-in, so that its state is valid once across all processes. One of another browser stays: programs that follow
 * links, such as scanners, don't end it.
 * @returns undefined if it is unknown, used, expired, another browser's, or a trial of another session
 */
export async function takeOidcSignIn(
  db: StatementRunner,
  {
    stateHash,
    browserHash,
    trialSessionid,
  }: {
    readonly stateHash: Buffer;
    readonly browserHash: Buffer;
    /** Null if it is to sign somebody in. */
    readonly trialSessionid: string | null;
  },
): Promise<OidcSignIn | undefined> {
  const { rows } = await db.query<OidcSignIn & { expired: boolean }>(
    `delete from rowpost.oidc_sign_in where state_hash = $1 and browser_hash = $2 and trial_sessionid is not distinct from $3::uuid
     returning trial_sessionid, tenantid, roleid, confid, nonce, code_verifier_encrypted, browser_hash, return_to, redirect_uri, tokens_valid_from_ms,
       expires < now() as expired`,
    [stateHash, browserHash, trialSessionid],
  );
  const [row] = rows;
  return row && !row.expired ? row : undefined;
}
