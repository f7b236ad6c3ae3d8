import type { Request } from 'express';
import type { JWTPayload } from 'jose';
import type { Claims } from '../../control/oidc/claims.js';
import type { OidcRegistration } from '../../control/oidc/oidcRegistration.js';
import { decrypted } from '../../control/storedSecrets.js';
import { takeOidcSignIn, type OidcSignIn } from '../../db/roles/signIn/oidcSignIns.js';
import type { RouteDeps } from '../http/routeDeps.js';
import { browserHashOf, sha256 } from './browserBinding.js';
import { clientAuthOf } from './clientAuth.js';
import { exchangeCode, type Exchanged } from './exchangeCode.js';
import { findMapping, findRegistration } from './findRegistration.js';
import { oidcFailure } from './oidcFailure.js';
import { verifierContext } from './startSignIn.js';
import { readUserInfo } from './userInfo.js';
import { verifyIdToken } from './verifyIdToken.js';

/** A sign-in returned by the provider to the browser that started it. */
export interface ReturnedSignIn extends OidcSignIn {
  readonly state: string;
  readonly codeVerifier: string;
  /** The redirect URI with the provider's parameters. */
  readonly callbackUrl: URL;
}

/** What the provider says of the person. */
export interface Identified extends Exchanged {
  readonly registration: OidcRegistration;
  /** Of the ID token, verified. */
  readonly claims: JWTPayload;
}

/**
 * Finds the sign-in by a callback's `state`, which is valid once, for ten minutes, in one browser, and at the redirect URI that
 * it was started with: a code that arrives elsewhere is another provider's. Throws AppError OIDC_STATE_INVALID, with the same
 * message for all causes.
 * @param trialSessionid the session of the console that tries to sign in, and signs nobody in; null for a sign-in
 */
export async function takeSignIn(
  deps: RouteDeps,
  req: Request,
  trialSessionid: string | null,
): Promise<ReturnedSignIn> {
  const { baseUrl } = deps.config;
  const callbackUrl = new URL(baseUrl + req.path);
  callbackUrl.search = new URL(req.originalUrl, callbackUrl).search;
  const [state, ...others] = callbackUrl.searchParams.getAll('state');
  if (state === undefined || others.length > 0) throw stateInvalid();
  const stateHash = sha256(state);
  const kind = trialSessionid === null ? 'sign-in' : 'trial';
  const browserHash = browserHashOf(req, state, baseUrl, kind);
  if (browserHash === undefined) throw stateInvalid();
  const signIn = await takeOidcSignIn(deps.database.pool, { stateHash, browserHash, trialSessionid });
  if (signIn?.redirect_uri !== req.path) throw stateInvalid();
  const codeVerifier = decrypted(deps.keyRing, signIn.code_verifier_encrypted, verifierContext(stateHash));
  // Its key was removed meanwhile.
  if (codeVerifier === undefined) throw stateInvalid();
  return { ...signIn, state, codeVerifier, callbackUrl };
}

/** Code → ID token → claims. Throws AppError OIDC_*. */
export async function identify(deps: RouteDeps, signIn: ReturnedSignIn): Promise<Identified> {
  const registration = await findUnchanged(deps, signIn);
  const clientAuth = await clientAuthOf(deps, registration);
  const exchanged = await exchangeCode(deps.callProvider, { ...signIn, registration, clientAuth });
  const claims = await verifyIdToken(deps.providerKeys, registration, exchanged.idToken, signIn.nonce);
  return { ...exchanged, registration, claims };
}

/** The configuration, if it and the role are as the sign-in was started with. */
async function findUnchanged(deps: RouteDeps, signIn: ReturnedSignIn): Promise<OidcRegistration> {
  const registration = await findRegistration(deps, signIn);
  // The code must not reach the token endpoint of a provider that was configured meanwhile.
  if (registration.redirectPath !== signIn.redirect_uri) throw stateInvalid();
  if (signIn.roleid !== null) {
    const { role } = await findMapping(deps, { ...signIn, roleid: signIn.roleid });
    if (role.tokensValidFromMs !== signIn.tokens_valid_from_ms) throw stateInvalid();
  }
  return deps.issuers.complete(deps, registration);
}

/** At the provider's UserInfo endpoint; undefined if it offers no more claims. Throws AppError OIDC_PROVIDER_ERROR. */
export async function readMoreClaims(
  deps: Pick<RouteDeps, 'callProvider' | 'providerKeys' | 'providerMetadata'>,
  { registration, claims: { sub }, accessToken }: Identified,
): Promise<Claims | undefined> {
  const { userInfoUri } = await deps.providerMetadata.get(registration.provider);
  if (userInfoUri === undefined || accessToken === undefined || sub === undefined) return undefined;
  return readUserInfo(deps, registration, { userInfoUri, accessToken, sub });
}

export function stateInvalid(): Error {
  return oidcFailure('OIDC_STATE_INVALID', 'This sign-in is unknown here.');
}
