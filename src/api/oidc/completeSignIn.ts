import type { Request, Response } from 'express';
import type { JWTPayload } from 'jose';
import { takeOidcSignIn, type OidcSignIn } from '../../db/roles/signIn/oidcSignIns.js';
import type { Claims } from '../../control/oidc/claims.js';
import type { OidcRegistration } from '../../control/oidc/oidcRegistration.js';
import type { Admitted } from '../../control/oidc/identity.js';
import type { Principal } from '../../db/roles/principal.js';
import { AppError } from '../../foundation/errors.js';
import type { ProviderSignIn } from '../auth/sessions.js';
import { signInAs } from '../auth/signIn.js';
import { failedSignInPath, isConsolePath } from '../console/consolePath.js';
import { clientAddress } from '../http/clientAddress.js';
import type { RouteDeps } from '../http/routeDeps.js';
import { browserHashOf, cookieName, cookieOptions, sha256 } from './browserBinding.js';
import { clientAuthOf } from './clientAuth.js';
import { exchangeCode, type Exchanged } from './exchangeCode.js';
import { findMapping, findRegistration } from './findRegistration.js';
import { matchIdentity } from './matchIdentity.js';
import { oidcFailure } from './oidcFailure.js';
import { withError, withTokens } from './returnTo.js';
import { verifierContext } from './startSignIn.js';
import { readUserInfo } from './userInfo.js';
import { verifyIdToken } from './verifyIdToken.js';

/** A sign-in returned by the provider to the browser that started it. */
interface ReturnedSignIn extends OidcSignIn {
  readonly state: string;
  readonly codeVerifier: string;
}

/**
 * `GET /oidc` and `GET /oidc/<confid>`: code → ID token → claims → identity → role → response.
 * Throws AppError OIDC_*, PERMISSION_DENIED (the role lacks the capability `login`), unless the browser returns to a page, which gets
 * the error in its URL.
 */
export async function completeSignIn(deps: RouteDeps, req: Request, res: Response): Promise<void> {
  const { baseUrl } = deps.config;
  const callbackUrl = new URL(baseUrl + req.path);
  callbackUrl.search = new URL(req.originalUrl, callbackUrl).search;
  const signIn = await takeSignIn(deps, req, callbackUrl);
  res.clearCookie(cookieName(signIn.state, baseUrl), cookieOptions(baseUrl));
  try {
    const registration = await findUnchanged(deps, signIn);
    const exchanged = await exchangeCode(deps.callProvider, {
      ...signIn,
      registration,
      callbackUrl,
      clientAuth: await clientAuthOf(deps, registration),
    });
    const { idToken } = exchanged;
    const claims = await verifyIdToken(deps.providerKeys, registration, idToken, signIn.nonce);
    const admitted = await findRole(deps, signIn, registration, { ...exchanged, claims });
    const principal = await signInRole(deps, signIn, admitted);
    deps.log.info({ ...subjectOf(signIn), roleid: admitted.roleid }, 'signed in through a provider');
    const atProvider = { registration, confid: signIn.confid, idToken, claims };
    await respond(deps, req, res, signIn, principal, atProvider);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    deps.log.warn({ ...subjectOf(signIn), code: error.code }, 'a sign-in through a provider failed');
    const { tenantid, confid, roleid } = signIn;
    const address = clientAddress(req, deps.config.trustProxy);
    const refused = { tenantid, confid, roleid: roleid ?? undefined, reason: error.code, address };
    deps.signInEvents.note({ kind: 'refused', ...refused });
    respondWithError(res, signIn, error);
  }
}

/**
 * Finds the sign-in by a callback's `state`, which is valid once, for ten minutes, in one browser, and at the redirect URI that
 * it was started with: a code that arrives elsewhere is another provider's. Throws AppError OIDC_STATE_INVALID, with the same
 * message for all causes.
 */
async function takeSignIn(deps: RouteDeps, req: Request, callbackUrl: URL): Promise<ReturnedSignIn> {
  const [state, ...others] = callbackUrl.searchParams.getAll('state');
  if (state === undefined || others.length > 0) throw stateInvalid();
  const stateHash = sha256(state);
  const browserHash = browserHashOf(req, state, deps.config.baseUrl);
  if (browserHash === undefined) throw stateInvalid();
  const signIn = await takeOidcSignIn(deps.database.pool, stateHash, browserHash);
  if (signIn?.redirect_uri !== req.path) throw stateInvalid();
  const codeVerifier = deps.keyRing.decrypt(signIn.code_verifier_encrypted, verifierContext(stateHash));
  return { ...signIn, state, codeVerifier };
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

/** The role that the sign-in was started for, if the identity is its own, or that of the identity. */
async function findRole(
  deps: RouteDeps,
  { tenantid, roleid, confid, tokens_valid_from_ms: began }: ReturnedSignIn,
  registration: OidcRegistration,
  { claims, accessToken }: Pick<Exchanged, 'accessToken'> & { readonly claims: JWTPayload },
): Promise<Admitted> {
  const { provider } = registration;
  const given = roleid === null || began === null ? undefined : { roleid, tokensValidFromMs: began };
  // Read now, not at the start: a mapping deleted in the meantime no longer counts.
  const mapping = given && (await findMapping(deps, { tenantid, roleid: given.roleid, confid })).mapping;
  const identity = {
    tenantid,
    confid,
    providerid: provider.providerid,
    ...matchIdentity(claims, provider, mapping?.sub_id),
    claims,
    readMore: () => readMoreClaims(deps, registration, claims, accessToken),
    emailAlwaysVerified: provider.email_always_verified,
  };
  return deps.provisioner.admit(registration, identity, given);
}

/** Undefined if the provider offers no more claims. Throws AppError OIDC_PROVIDER_ERROR. */
async function readMoreClaims(
  { callProvider, providerMetadata }: RouteDeps,
  registration: OidcRegistration,
  { sub }: JWTPayload,
  accessToken: string | undefined,
): Promise<Claims | undefined> {
  const { userInfoUri } = await providerMetadata.get(registration.provider);
  if (userInfoUri === undefined || accessToken === undefined || sub === undefined) return undefined;
  return readUserInfo(callProvider, registration, { userInfoUri, accessToken, sub });
}

/** A sign-in under way ends with the role's sessions. */
async function signInRole(
  deps: RouteDeps,
  { tenantid }: ReturnedSignIn,
  { roleid, tokensValidFromMs }: Admitted,
): Promise<Principal> {
  const principal = await signInAs(deps, tenantid, roleid);
  if (!principal) throw oidcFailure('OIDC_ROLE_NOT_MAPPED', `Role ${roleid} is deleted.`);
  if (principal.tokensValidFromMs !== tokensValidFromMs) throw stateInvalid();
  return principal;
}

function stateInvalid(): Error {
  return oidcFailure('OIDC_STATE_INVALID', 'This sign-in is unknown here.');
}

/** With tokens, or with a session if the sign-in ends in the console. */
async function respond(
  deps: RouteDeps,
  req: Request,
  res: Response,
  { return_to: returnTo }: ReturnedSignIn,
  principal: Principal,
  atProvider: ProviderSignIn,
): Promise<void> {
  if (returnTo !== null && isConsolePath(returnTo)) {
    await deps.consoleSessions.begin(req, res, principal, { atProvider });
    res.redirect(303, returnTo);
    return;
  }
  const origin = await deps.sessions.begin(req, principal, { atProvider });
  if (returnTo === null) return deps.respondToSignIn(res, principal, origin);
  const tokens = await deps.tokens.issuePair(principal, origin);
  res.setHeader('cache-control', 'no-store');
  res.redirect(303, withTokens(returnTo, tokens, principal));
}

function respondWithError(res: Response, { return_to: returnTo }: ReturnedSignIn, error: AppError): void {
  if (returnTo === null) throw error;
  const isConsole = isConsolePath(returnTo);
  res.redirect(303, isConsole ? failedSignInPath(returnTo, error) : withError(returnTo, error));
}

function subjectOf({ tenantid, roleid, confid }: ReturnedSignIn): object {
  return { tenantid, roleid, confid };
}
