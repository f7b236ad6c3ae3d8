import { endSessionUri, readOidcRegistration } from '../../control/oidc/oidcRegistration.js';
import { decrypted } from '../../control/storedSecrets.js';
import type { EndedSession } from '../../db/roles/signIn/sessions.js';
import { idTokenContext, MAX_END_SESSION_CHARACTERS } from '../auth/sessions.js';
import type { RouteDeps } from '../http/routeDeps.js';

/** Where providers send browsers back to once they have signed out, below BASE_URL. */
export const SIGNED_OUT_PATH = '/oidc/logout';
const PURPOSE = 'sign-out';

/** Where the browser signs out at the provider. */
export interface EndSessionUrl {
  readonly url: string;
  readonly provider: string;
}

/**
 * OpenID Connect RP-Initiated Logout 2. @returns undefined if the session began with a password, or its provider signs nobody out
 * @param returnTo where in the console, or at which other address, the browser goes at last
 */
export async function endSessionUrl(
  { database: { pool }, keyRing, config }: RouteDeps,
  { tenantid, sessionid, confid, idTokenEncrypted }: EndedSession,
  returnTo: string | null,
): Promise<EndSessionUrl | undefined> {
  if (confid === null) return undefined;
  const registration = await readOidcRegistration(pool, keyRing, tenantid, confid);
  if (!registration) return undefined;
  const uri = endSessionUri(registration);
  if (uri === undefined) return undefined;
  const url = new URL(uri);
  const set = (name: string, value: string): void => url.searchParams.set(name, value);
  const idToken =
    idTokenEncrypted === null ? undefined : decrypted(keyRing, idTokenEncrypted, idTokenContext(sessionid));
  set('client_id', registration.clientId);
  set('post_logout_redirect_uri', config.baseUrl + SIGNED_OUT_PATH);
  // A proxy in front of several cells reads the tenant from it when the browser comes back.
  set('state', `${tenantid}-${keyRing.seal(JSON.stringify([tenantid, returnTo]), PURPOSE)}`);
  const HINT = 'id_token_hint';
  if (idToken !== undefined) set(HINT, idToken);
  // Without it, the provider asks the person.
  if (url.href.length > MAX_END_SESSION_CHARACTERS) url.searchParams.delete(HINT);
  return { url: url.href, provider: registration.provider.name };
}

/** What `state` holds when the browser is back. @returns undefined unless `endSessionUrl` made it */
export function readSignOutState(
  { keyRing }: Pick<RouteDeps, 'keyRing'>,
  state: unknown,
): { readonly tenantid: number; readonly returnTo: string | null } | undefined {
  const [, sealed] = typeof state === 'string' ? (/^\d+-([\w-]+)$/.exec(state) ?? []) : [];
  const text = sealed === undefined ? undefined : keyRing.open(sealed, PURPOSE);
  if (text === undefined) return undefined;
  const [tenantid, returnTo] = JSON.parse(text) as [number, string | null];
  return { tenantid, returnTo };
}
