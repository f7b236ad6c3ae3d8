import type { Knex } from 'knex';

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
}

/** Maximum number of abandoned sign-ins deleted with each new one. */
const SWEPT = 100;

/**
 * Also deletes expired sign-ins.
 * @param stateHash SHA-256 of `state`
 */
export async function storeOidcSignIn(
  knex: Knex,
  stateHash: Buffer,
  signIn: OidcSignIn,
  lifetimeSeconds: number,
): Promise<void> {
  await knex.raw(
    `delete from rowpost.oidc_sign_in where state_hash in (
       select state_hash from rowpost.oidc_sign_in where expires < now() limit ? for update skip locked)`,
    [SWEPT],
  );
  await knex('rowpost.oidc_sign_in').insert({
    ...signIn,
    state_hash: stateHash,
    expires: knex.raw("now() + ? * interval '1 second'", [lifetimeSeconds]),
  });
}

/**
 * Removes a sign-in, so that its state is valid once across all processes. One of another browser stays: programs that follow
 * links, such as scanners, don't end it.
 * @returns undefined if it is unknown, used, expired or another browser's
 */
export async function takeOidcSignIn(
  knex: Knex,
  stateHash: Buffer,
  browserHash: Buffer,
): Promise<OidcSignIn | undefined> {
  const { rows } = await knex.raw<{ rows: (OidcSignIn & { expired: boolean })[] }>(
    `delete from rowpost.oidc_sign_in where state_hash = ? and browser_hash = ?
     returning tenantid, roleid, confid, nonce, code_verifier_encrypted, browser_hash, return_to, redirect_uri, tokens_valid_from_ms,
       expires < now() as expired`,
    [stateHash, browserHash],
  );
  const [row] = rows;
  return row && !row.expired ? row : undefined;
}
