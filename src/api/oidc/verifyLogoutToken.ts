import { decodeJwt, errors, type JWTPayload, type JWTVerifyOptions } from 'jose';
import type { ClientConfig } from '../../control/oidc/oidcRegistration.js';
import type { ProviderLogout } from '../../db/roles/signIn/sessions.js';
import { AppError } from '../../foundation/errors.js';
import { isJsonObject } from '../../foundation/json/losslessJson.js';
import { sha256 } from './browserBinding.js';
import { isIssuerOf } from './issuer.js';
import { oidcFailure } from './oidcFailure.js';
import type { ProviderKeys } from './providerKeys.js';
import { ALGORITHMS, CLOCK_TOLERANCE_SECONDS, verifySigned } from './verifyIdToken.js';

const MAX_CHARACTERS = 16_384;
const MAX_AUDIENCES = 10;
/** Provider objects that a token's issuer and client may belong to. */
const MAX_PROVIDERS = 5;
/** No sign-in that a token is about is still under way then, and its jti is forgotten later. */
const MAX_AGE_SECONDS = 600;
/** Anybody may send tokens: those that no key matches make a provider's keys be fetched this often. */
const MIN_KEY_AGE_MS = 30_000;
const OPTIONS: JWTVerifyOptions = {
  algorithms: ALGORITHMS,
  requiredClaims: ['iss', 'aud', 'iat', 'jti', 'events'],
  maxTokenAge: MAX_AGE_SECONDS,
  clockTolerance: CLOCK_TOLERANCE_SECONDS,
};
const EVENT = 'http://schemas.openid.net/event/backchannel-logout';

export type ReadConfigs = (clientIds: readonly string[]) => Promise<readonly ClientConfig[]>;

/** What a verified logout token says, and the configurations that it is about. */
export interface VerifiedLogout extends Omit<ProviderLogout, 'confids'> {
  readonly configs: readonly ClientConfig[];
}

/**
 * The configurations whose client and issuer a token names, which may be anything.
 * Throws AppError OIDC_LOGOUT_TOKEN_INVALID if there is none.
 */
export async function findNamedConfigs(
  readConfigs: ReadConfigs,
  token: string,
): Promise<readonly ClientConfig[]> {
  const { iss, aud } = readUnverified(token);
  const audiences = [aud ?? []].flat().filter((each) => typeof each === 'string');
  if (audiences.length === 0 || audiences.length > MAX_AUDIENCES) throw invalid('aud');
  const known = (await readConfigs(audiences)).map(({ provider, ...config }) => ({
    ...config,
    provider: { ...provider, issuer: provider.issuer ?? provider.discovered_issuer },
  }));
  const named = known.filter(({ provider }) => isIssuerOf(provider, iss));
  if (named.length === 0) throw invalid(known.length === 0 ? 'aud' : 'iss');
  return named;
}

/**
 * A logout token (OpenID Connect Back-Channel Logout 2.4 and 2.6), verified to be signed by the provider of the configurations
 * that it names. It says nothing about the tenant: several may share a client.
 * Throws AppError OIDC_LOGOUT_TOKEN_INVALID, OIDC_PROVIDER_ERROR.
 */
export async function verifyLogoutToken(
  providerKeys: ProviderKeys,
  named: readonly ClientConfig[],
  token: string,
): Promise<VerifiedLogout> {
  const providers = [...new Map(named.map(({ provider }) => [provider.providerid, provider])).values()];
  let failure: unknown;
  let logout: VerifiedLogout | undefined;
  for (const { providerid, jwks_uri } of providers.slice(0, MAX_PROVIDERS)) {
    try {
      const claims = await verifySigned(providerKeys, jwks_uri, token, OPTIONS, MIN_KEY_AGE_MS);
      const ofProvider = named.filter((each) => each.provider.providerid === providerid);
      // Several provider objects may be one provider.
      logout = { configs: [...(logout?.configs ?? []), ...ofProvider], ...readLogout(claims) };
    } catch (error) {
      failure = error;
    }
  }
  if (!logout) throw explain(failure);
  return logout;
}

function readUnverified(token: string): JWTPayload {
  if (token.length > MAX_CHARACTERS) throw invalid('size');
  try {
    return decodeJwt(token);
  } catch (error) {
    throw explain(error);
  }
}

function readLogout(claims: JWTPayload): Omit<ProviderLogout, 'confids'> {
  const { events, jti, sid, sub, iat = 0 } = claims;
  if (!isJsonObject(events) || !Object.hasOwn(events, EVENT) || !isJsonObject(events[EVENT]))
    throw invalid('events');
  // An ID token must not pass for a logout token.
  if ('nonce' in claims) throw invalid('nonce');
  if (typeof jti !== 'string' || jti === '') throw invalid('jti');
  if (sid !== undefined && (typeof sid !== 'string' || sid === '')) throw invalid('sid');
  if (sub !== undefined && (typeof sub !== 'string' || sub === '')) throw invalid('sub');
  if (sid === undefined && sub === undefined) throw invalid('sid');
  return {
    jtiHash: sha256(jti),
    sidHash: sid === undefined ? null : sha256(sid),
    subHash: sub === undefined ? null : sha256(sub),
    issuedAtMs: iat * 1000,
  };
}

function explain(error: unknown): unknown {
  if (error instanceof AppError) return error;
  if (error instanceof errors.JWTExpired || error instanceof errors.JWTClaimValidationFailed)
    return invalid(error.claim);
  return oidcFailure('OIDC_LOGOUT_TOKEN_INVALID', "The logout token's signature can't be trusted.");
}

function invalid(what: string): AppError {
  return oidcFailure('OIDC_LOGOUT_TOKEN_INVALID', `The logout token is not acceptable (${what}).`);
}
