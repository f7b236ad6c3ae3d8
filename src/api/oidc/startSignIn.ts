import { randomBytes } from 'node:crypto';
import type { Response } from 'express';
import { randomNonce, randomPKCECodeVerifier, randomState } from 'openid-client';
import { storeOidcSignIn, type OidcSignIn } from '../../db/roles/signIn/oidcSignIns.js';
import { AppError } from '../../foundation/errors.js';
import { readId } from '../http/readId.js';
import type { RouteDeps } from '../http/routeDeps.js';
import { authorizationUrl, type SignInSecrets } from './authorizationUrl.js';
import { cookieName, cookieOptions, sha256 } from './browserBinding.js';
import { findMapping, findRegistration } from './findRegistration.js';
import { readReturnTo } from './returnTo.js';

/** Time to sign in at the provider. */
const LIFETIME_SECONDS = 600;

export interface SignInStart {
  readonly tenantid: number;
  /** Undefined: that of the identity. */
  readonly roleid: number | undefined;
  readonly confid: unknown;
  readonly return_to?: unknown;
  /** Of a trial: the session of the console that may complete it. */
  readonly trialSessionid?: string;
}

/**
 * `POST /oidc`: configuration → role, if one is given → secrets → stored sign-in → authorization URL → cookie. @returns where the browser has to go
 * @param consolePath where in the console the sign-in ends, with a session instead of tokens. Only passed by the console's
 *   own form: other sites may post to `/oidc`, and must not be able to sign a browser in.
 * Throws AppError BAD_REQUEST, OIDC_CONFID_NOT_FOUND, OIDC_ROLE_NOT_MAPPED, OIDC_RETURN_TO_REFUSED.
 */
export async function startSignIn(
  deps: RouteDeps,
  res: Response,
  { tenantid, roleid, return_to, trialSessionid, ...given }: SignInStart,
  consolePath?: string,
): Promise<string> {
  const target = { tenantid, roleid: roleid ?? null, confid: requireId(given, 'confid') };
  const { registration, role } = await deps.turns.run(res.req, async () => ({
    registration: await findRegistration(deps, target),
    role: roleid === undefined ? undefined : (await findMapping(deps, { ...target, roleid })).role,
  }));
  const returnTo = consolePath ?? readReturnTo(return_to, deps, tenantid);
  const secrets = createSecrets(deps, tenantid);
  // In a cookie, so that no other browser can complete the sign-in.
  const browserSecret = randomBytes(32).toString('base64url');
  const stateHash = sha256(secrets.state);
  const signIn: OidcSignIn = {
    ...target,
    nonce: secrets.nonce,
    code_verifier_encrypted: deps.keyRing.encrypt(secrets.codeVerifier, verifierContext(stateHash)),
    browser_hash: sha256(browserSecret),
    return_to: returnTo,
    redirect_uri: registration.redirectPath,
    tokens_valid_from_ms: role?.tokensValidFromMs ?? null,
    trial_sessionid: trialSessionid ?? null,
  };
  await storeOidcSignIn(deps.database.pool, stateHash, signIn, LIFETIME_SECONDS);
  const url = await authorizationUrl(registration, deps.config, secrets);
  const { baseUrl } = deps.config;
  const cookie = { ...cookieOptions(baseUrl), maxAge: LIFETIME_SECONDS * 1000 };
  const kind = trialSessionid === undefined ? 'sign-in' : 'trial';
  res.cookie(cookieName(secrets.state, baseUrl, kind), browserSecret, cookie);
  return url;
}

function createSecrets({ config }: RouteDeps, tenantid: number): SignInSecrets {
  const state = randomState();
  return {
    // A proxy in front of several cells reads the tenant from it when the browser comes back.
    state: config.cell === undefined ? state : `${tenantid}-${state}`,
    nonce: randomNonce(),
    codeVerifier: randomPKCECodeVerifier(),
  };
}

export function verifierContext(stateHash: Buffer): string {
  return `oidc_sign_in:${stateHash.toString('hex')}`;
}

/** Accepts numbers and numeric strings. Throws AppError BAD_REQUEST. */
export function requireId(
  values: { readonly roleid?: unknown; readonly confid?: unknown },
  name: 'roleid' | 'confid',
): number {
  const id = readId(values[name]);
  if (id !== undefined) return id;
  throw new AppError('BAD_REQUEST', `${name} must be a number.`);
}
