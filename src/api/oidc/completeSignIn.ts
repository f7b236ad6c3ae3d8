import type { Request } from 'express';
import { takeOidcSignIn, type OidcSignIn } from '../../db/roles/signIn/oidcSignIns.js';
import type { Principal } from '../../db/roles/principal.js';
import { signInAs } from '../auth/signIn.js';
import type { RouteDeps } from '../http/routeDeps.js';
import { browserHashOf, sha256 } from './browserBinding.js';
import { exchangeCode } from './exchangeCode.js';
import { findMapping, findRegistration } from './findRegistration.js';
import { matchIdentity } from './matchIdentity.js';
import { oidcFailure } from './oidcFailure.js';
import { verifierContext } from './startSignIn.js';
import { verifyIdToken } from './verifyIdToken.js';

/** A sign-in returned by the provider to the browser that started it. */
export interface ReturnedSignIn extends OidcSignIn {
  readonly state: string;
  readonly codeVerifier: string;
}

/**
 * Finds the sign-in by a callback's `state`, which is valid once, for ten minutes, in one browser, and at the redirect URI that
 * it was started with: a code that arrives elsewhere is another provider's. Throws AppError OIDC_STATE_INVALID, with the same
 * message for all causes.
 */
export async function takeSignIn(deps: RouteDeps, req: Request, callbackUrl: URL): Promise<ReturnedSignIn> {
  const [state, ...others] = callbackUrl.searchParams.getAll('state');
  if (state === undefined || others.length > 0) throw stateInvalid();
  const stateHash = sha256(state);
  const browserHash = browserHashOf(req, state, deps.config.baseUrl);
  if (browserHash === undefined) throw stateInvalid();
  const signIn = await takeOidcSignIn(deps.database.knex, stateHash, browserHash);
  if (signIn?.redirect_uri !== req.path) throw stateInvalid();
  const codeVerifier = deps.keyRing.decrypt(signIn.code_verifier_encrypted, verifierContext(stateHash));
  return { ...signIn, state, codeVerifier };
}

/**
 * From the provider's code to the role: code → ID token → claims → identity → principal.
 * Throws AppError OIDC_*, PERMISSION_DENIED (the role lacks the capability `login`).
 */
export async function handleCallback(
  deps: RouteDeps,
  signIn: ReturnedSignIn,
  callbackUrl: URL,
): Promise<Principal> {
  const { tenantid, roleid, confid, state, codeVerifier, nonce } = signIn;
  const found = await findRegistration(deps, tenantid, confid);
  // The code must not reach the token endpoint of a provider that was configured meanwhile.
  const { role } = await findMapping(deps, tenantid, roleid, confid);
  if (found.redirectPath !== signIn.redirect_uri || !isUnchanged(role, signIn)) throw stateInvalid();
  const registration = await deps.issuers.complete(deps, found);
  const idToken = await exchangeCode(deps.callProvider, { registration, callbackUrl, state, codeVerifier });
  const claims = await verifyIdToken(deps.providerKeys, registration, idToken, nonce);
  // Read now, not at the start: a mapping deleted in the meantime no longer counts.
  const { mapping } = await findMapping(deps, tenantid, roleid, confid);
  matchIdentity(claims, registration.provider, mapping.sub_id);
  const principal = await signInAs(deps, tenantid, roleid);
  if (!principal) throw oidcFailure('OIDC_ROLE_NOT_MAPPED', `Role ${roleid} is deleted.`);
  if (!isUnchanged(principal, signIn)) throw stateInvalid();
  return principal;
}

/** A sign-in under way ends with the role's sessions. */
function isUnchanged({ tokensValidFromMs }: Principal, { tokens_valid_from_ms: began }: OidcSignIn): boolean {
  return tokensValidFromMs === began;
}

function stateInvalid(): Error {
  return oidcFailure('OIDC_STATE_INVALID', 'This sign-in is unknown here.');
}
