import type { Principal, PrincipalSource } from '../../db/roles/principal.js';

/** What a token, a session of the console, a file's URL and a sign-in under way have in common. */
export interface Credential {
  readonly tenantid: number;
  readonly roleid: number;
  /** `Principal.tokensValidFromMs` when it was issued. */
  readonly tokensValidFromMs: number;
  /** The sign-in that it came from. */
  readonly sessionid?: string | undefined;
  /** The API key that it came from. */
  readonly keyid?: string | undefined;
}

/**
 * The one place that decides whether a credential is still good: its role exists, and is in the state that it was issued for, and
 * its session has not ended, nor is its API key gone.
 * A new password, a lost capability to sign in, a deletion, a restoration, and a change of the role's identities or of their
 * provider all begin a new state (triggers on `rowpost.role`). Both are known to every process within PRINCIPAL_MAX_AGE_MS.
 * @returns who holds it now; undefined if it is dead
 */
export async function findHolder(
  principals: Pick<PrincipalSource, 'load' | 'hasEnded'>,
  { tenantid, roleid, tokensValidFromMs, sessionid, keyid }: Credential,
): Promise<Principal | undefined> {
  const principal = await principals.load(tenantid, roleid);
  if (!principal || tokensValidFromMs < principal.tokensValidFromMs) return undefined;
  if (sessionid !== undefined && (await principals.hasEnded(principal, sessionid))) return undefined;
  if (keyid !== undefined && !principal.apiKeys.some((key) => key.keyid === keyid)) return undefined;
  return principal;
}

/**
 * The same for a link in an email, which is its recipients': it outlives the sessions of the role, but not the role, even if
 * that is restored. @param link issued when the email was written
 */
export async function findSender(
  principals: Pick<PrincipalSource, 'load'>,
  { tenantid, roleid, tokensValidFromMs: writtenMs }: Credential,
): Promise<Principal | undefined> {
  const principal = await principals.load(tenantid, roleid);
  return principal && writtenMs >= principal.restoredMs ? principal : undefined;
}
