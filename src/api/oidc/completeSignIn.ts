import type { Request, Response } from 'express';
import type { Admitted } from '../../control/oidc/identity.js';
import type { Principal } from '../../db/roles/principal.js';
import { AppError } from '../../foundation/errors.js';
import type { ProviderSignIn } from '../auth/sessions.js';
import { signInAs } from '../auth/signIn.js';
import { failedSignInPath, isConsolePath } from '../console/consolePath.js';
import { clientAddress } from '../http/clientAddress.js';
import type { RouteDeps } from '../http/routeDeps.js';
import { cookieName, cookieOptions } from './browserBinding.js';
import { findMapping } from './findRegistration.js';
import { matchIdentity } from './matchIdentity.js';
import { oidcFailure } from './oidcFailure.js';
import {
  identify,
  readMoreClaims,
  stateInvalid,
  takeSignIn,
  type Identified,
  type ReturnedSignIn,
} from './returnedSignIn.js';
import { withError, withTokens } from './returnTo.js';

/**
 * `GET /oidc` and `GET /oidc/<confid>`: code → ID token → claims → identity → role → response.
 * Throws AppError OIDC_*, PERMISSION_DENIED (the role lacks the capability `login`), unless the browser returns to a page, which gets
 * the error in its URL.
 */
export async function completeSignIn(deps: RouteDeps, req: Request, res: Response): Promise<void> {
  const { baseUrl } = deps.config;
  const signIn = await takeSignIn(deps, req, null);
  res.clearCookie(cookieName(signIn.state, baseUrl, 'sign-in'), cookieOptions(baseUrl));
  try {
    const identified = await identify(deps, signIn);
    const admitted = await findRole(deps, signIn, identified);
    const principal = await signInRole(deps, signIn, admitted);
    deps.log.info({ ...subjectOf(signIn), roleid: admitted.roleid }, 'signed in through a provider');
    await respond(deps, req, res, signIn, principal, { ...identified, confid: signIn.confid });
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

/** The role that the sign-in was started for, if the identity is its own, or that of the identity. */
async function findRole(
  deps: RouteDeps,
  { tenantid, roleid, confid, tokens_valid_from_ms: began }: ReturnedSignIn,
  identified: Identified,
): Promise<Admitted> {
  const { registration, claims } = identified;
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
    readMore: () => readMoreClaims(deps, identified),
    emailAlwaysVerified: provider.email_always_verified,
  };
  return deps.provisioner.admit(registration, identity, given);
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
