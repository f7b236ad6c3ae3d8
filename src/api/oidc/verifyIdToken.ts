import { errors, jwtVerify, type CryptoKey, type JWTPayload, type JWTVerifyOptions } from 'jose';
import type { OidcRegistration } from '../../control/oidc/oidcRegistration.js';
import { isTooDeep } from '../../control/oidc/claims.js';
import { AppError } from '../../foundation/errors.js';
import { ownValue } from '../../foundation/ownValue.js';
import { isIssuerOf, otherIssuerHint } from './issuer.js';
import { oidcFailure } from './oidcFailure.js';
import type { KeySet, ProviderKeys } from './providerKeys.js';

/** Asymmetric algorithms only: `none` proves nothing, and HS256 would accept the public key as the secret. */
export const ALGORITHMS = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
];
/** Tolerated clock skew between the provider and this process. */
export const CLOCK_TOLERANCE_SECONDS = 60;
/** Keys that a token without a key id is verified with. A provider's keys may each take 10 ms of CPU. */
const MAX_CANDIDATES = 10;
/** RFC 7516, 3.1: a JWE has five parts, a JWS three. */
const ENCRYPTED_PARTS = 5;

/**
 * The claims of an ID token, verified to be signed by the provider, for this client and this sign-in, and current.
 * Throws AppError OIDC_SIGNATURE_INVALID, OIDC_ID_TOKEN_INVALID, OIDC_PROVIDER_ERROR (no keys to verify with).
 */
export async function verifyIdToken(
  providerKeys: ProviderKeys,
  { clientId, provider, maxSessionAge }: OidcRegistration,
  idToken: string,
  nonce: string,
): Promise<JWTPayload> {
  if (idToken.split('.').length === ENCRYPTED_PARTS) {
    throw oidcFailure(
      'OIDC_ID_TOKEN_INVALID',
      'The ID token is encrypted.',
      'At the provider, let the ID tokens of this client be signed only.',
    );
  }
  const claims = await checkSignature(providerKeys, provider.jwks_uri, idToken, {
    audience: clientId,
    algorithms: ALGORITHMS,
    requiredClaims: ['iss', 'aud', 'exp', 'iat', 'nonce'],
    clockTolerance: CLOCK_TOLERANCE_SECONDS,
  });
  if (isTooDeep(claims))
    throw oidcFailure('OIDC_ID_TOKEN_INVALID', 'The ID token has claims nested too deeply.');
  if (!isIssuerOf(provider, claims.iss)) throw invalid('iss', otherIssuerHint(provider));
  if (claims['nonce'] !== nonce) throw invalid('nonce');
  if (!isTime(claims.iat)) throw invalid('iat');
  const hasOthers = [claims.aud].flat().some((audience) => audience !== clientId);
  // OpenID Connect Core 3.1.3.7: a token with several audiences names the authorized party.
  if (claims['azp'] === undefined && hasOthers) throw invalid('azp', LEFT_OUT);
  if (claims['azp'] !== undefined && claims['azp'] !== clientId) throw invalid('azp');
  if (maxSessionAge !== null) requireRecent(claims, maxSessionAge);
  return claims;
}

/** Seconds that are a date, as both JavaScript and PostgreSQL have them. */
const isTime = (seconds = 0): boolean => seconds >= 0 && !Number.isNaN(new Date(seconds * 1000).getTime());

/**
 * OpenID Connect Core 3.1.2.1: with `max_age`, the ID token says when the person signed in at the provider. The address with
 * `max_age` went through the browser, which may have left it out. Throws AppError OIDC_ID_TOKEN_INVALID.
 */
function requireRecent(claims: JWTPayload, maxAgeSeconds: number): void {
  const signedInMs = authTimeMs(claims);
  if (signedInMs === undefined) throw invalid('auth_time', NO_AUTH_TIME);
  if (signedInMs + (maxAgeSeconds + CLOCK_TOLERANCE_SECONDS) * 1000 <= Date.now()) throw invalid('auth_time');
}

/** When the person signed in at the provider; undefined if it does not say so, or says it of the future. */
export function authTimeMs({ auth_time: authTime }: JWTPayload): number | undefined {
  const latest = Date.now() / 1000 + CLOCK_TOLERANCE_SECONDS;
  if (typeof authTime !== 'number' || !(authTime >= 0 && authTime <= latest)) return undefined;
  return authTime * 1000;
}

async function checkSignature(
  providerKeys: ProviderKeys,
  jwksUri: string,
  idToken: string,
  options: JWTVerifyOptions,
): Promise<JWTPayload> {
  try {
    return await verifySigned(providerKeys, jwksUri, idToken, options);
  } catch (error) {
    throw error instanceof AppError ? error : explain(error);
  }
}

/**
 * If no cached key matches, the provider may have rotated them: they are fetched once more.
 * @param minAgeMs unless they were fetched more recently
 * Throws AppError OIDC_PROVIDER_ERROR, and what jose throws.
 */
export async function verifySigned(
  providerKeys: ProviderKeys,
  jwksUri: string,
  token: string,
  options: JWTVerifyOptions,
  minAgeMs = 0,
): Promise<JWTPayload> {
  const { keys, isCached } = await providerKeys.get(jwksUri);
  try {
    return await verifyWith(keys, token, options);
  } catch (error) {
    if (!isCached || !mayBeRotated(error) || providerKeys.ageMs(jwksUri) < minAgeMs) throw error;
  }
  return verifyWith(await providerKeys.reread(jwksUri), token, options);
}

async function verifyWith(keys: KeySet, idToken: string, options: JWTVerifyOptions): Promise<JWTPayload> {
  try {
    return (await jwtVerify(idToken, keys, options)).payload;
  } catch (error) {
    if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error;
    return verifyWithAny(error as AsyncIterable<CryptoKey>, idToken, options);
  }
}

/** A token without a key id may be signed by any of the provider's keys, of which the first few are tried. */
async function verifyWithAny(
  candidates: AsyncIterable<CryptoKey>,
  idToken: string,
  options: JWTVerifyOptions,
): Promise<JWTPayload> {
  let left = MAX_CANDIDATES;
  for await (const key of candidates) {
    if (left-- === 0) break;
    try {
      return (await jwtVerify(idToken, key, options)).payload;
    } catch (error) {
      if (!(error instanceof errors.JWSSignatureVerificationFailed || isUnusableKey(error))) throw error;
    }
  }
  throw new errors.JWSSignatureVerificationFailed();
}

function mayBeRotated(error: unknown): boolean {
  return (
    error instanceof errors.JWKSNoMatchingKey ||
    error instanceof errors.JWSSignatureVerificationFailed ||
    isUnusableKey(error)
  );
}

/** jose throws TypeError for a key that is too short, and what Web Crypto throws for one with invalid members. */
function isUnusableKey(error: unknown): boolean {
  return !(error instanceof errors.JOSEError);
}

function explain(error: unknown): Error {
  if (error instanceof errors.JWTExpired || error instanceof errors.JWTClaimValidationFailed) {
    return ['missing', 'invalid'].includes(error.reason)
      ? invalid(error.claim, LEFT_OUT)
      : invalid(error.claim);
  }
  if (error instanceof errors.JWTInvalid || error instanceof errors.JWSInvalid) {
    return oidcFailure('OIDC_ID_TOKEN_INVALID', 'The ID token is malformed.');
  }
  // Auth0's older applications have HS256.
  if (error instanceof errors.JOSEAlgNotAllowed) {
    return oidcFailure(
      'OIDC_SIGNATURE_INVALID',
      'The ID token is not signed with a key of the key set.',
      'At the provider, choose an asymmetric algorithm for the ID tokens of this client, such as RS256 or ES256.',
    );
  }
  if (error instanceof errors.JOSEError) {
    return oidcFailure('OIDC_SIGNATURE_INVALID', "The ID token's signature can't be trusted.");
  }
  return oidcFailure(
    'OIDC_SIGNATURE_INVALID',
    "The provider's signing key can't be used.",
    'RSA keys must have at least 2,048 bits.',
  );
}

const NO_AUTH_TIME =
  'The provider does not say when the person signed in there: let it send auth_time, or remove max_session_age.';

const LEFT_OUT =
  "The provider leaves the claim out of its ID tokens, or sends another type than OpenID Connect has: correct the client's claims there.";

const CAUSES: Readonly<Record<string, string>> = {
  aud: 'The ID token is for another client: check client_id.',
  azp: 'The ID token was asked for by another client: check client_id.',
  nonce: 'The ID token belongs to another sign-in.',
  exp: 'The ID token has expired: check the clocks, and sign in again.',
  auth_time: 'The provider has not asked the person to sign in again: sign out there, and sign in again.',
  nbf: 'The ID token is not valid yet: check the clocks.',
};

function invalid(claim: string, hint = ownValue(CAUSES, claim)): Error {
  return oidcFailure('OIDC_ID_TOKEN_INVALID', `The ID token is not acceptable (claim ${claim}).`, hint);
}
