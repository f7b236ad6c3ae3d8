import { isTooDeep, type Claims } from '../../control/oidc/claims.js';
import type { OidcRegistration } from '../../control/oidc/oidcRegistration.js';
import { AppError } from '../../foundation/errors.js';
import { isJsonObject } from '../../foundation/json/losslessJson.js';
import { isIssuerOf } from './issuer.js';
import { oidcFailure } from './oidcFailure.js';
import type { ProviderClient, ProviderResponse } from './providerClient.js';
import type { ProviderKeys } from './providerKeys.js';
import { ALGORITHMS, CLOCK_TOLERANCE_SECONDS, verifySigned } from './verifyIdToken.js';

export interface UserInfoDeps {
  readonly callProvider: ProviderClient;
  readonly providerKeys: ProviderKeys;
}

/** RFC 6750, 2.1. */
const BEARER_TOKEN = /^[\x21-\x7e]+$/;
/** Not every provider says by its content type whether the response is signed. */
const SIGNED = /^[\w-]+\.[\w-]+\.[\w-]*$/;

/**
 * The claims at the provider's UserInfo endpoint, which are those of the person of the ID token. A signed response is verified as ID
 * tokens are. Throws AppError OIDC_PROVIDER_ERROR.
 */
export async function readUserInfo(
  deps: UserInfoDeps,
  registration: OidcRegistration,
  { userInfoUri, accessToken, sub }: { userInfoUri: string; accessToken: string; sub: string },
): Promise<Claims> {
  if (!BEARER_TOKEN.test(accessToken)) throw unusable('the access token is not one');
  const headers = { accept: 'application/json, application/jwt', authorization: `Bearer ${accessToken}` };
  const response = await explained(deps.callProvider(new URL(userInfoUri), { method: 'GET', headers }));
  const claims = await readResponse(deps, registration, response);
  if (claims['sub'] !== sub) throw unusable('they are of somebody else (claim sub)');
  if (isTooDeep(claims)) throw unusable('they are nested too deeply');
  return claims;
}

async function readResponse(
  { providerKeys }: UserInfoDeps,
  { clientId, provider }: OidcRegistration,
  { status, text }: ProviderResponse,
): Promise<Claims> {
  if (status !== 200) throw unusable(`the provider responded with ${status}`);
  const body = text.trim();
  if (!SIGNED.test(body)) return readJson(body);
  const claims = await explained(
    verifySigned(providerKeys, provider.jwks_uri, body, {
      algorithms: ALGORITHMS,
      clockTolerance: CLOCK_TOLERANCE_SECONDS,
    }),
    'their signature can not be trusted',
  );
  // OpenID Connect Core 5.3.2: it should have both.
  const { iss, aud } = claims;
  if (iss !== undefined && !isIssuerOf(provider, iss))
    throw unusable('they are of another issuer (claim iss)');
  if (aud !== undefined && ![aud].flat().includes(clientId))
    throw unusable('they are for another client (claim aud)');
  return claims;
}

function readJson(body: string): Claims {
  try {
    const claims: unknown = JSON.parse(body);
    if (isJsonObject(claims)) return claims;
  } catch {
    // It is as unusable as other JSON.
  }
  throw unusable('they are no JSON object');
}

/** @param otherwise what it means that it fails in another way. Throws AppError OIDC_PROVIDER_ERROR. */
function explained<T>(result: Promise<T>, otherwise?: string): Promise<T> {
  return result.catch((error: unknown) => {
    if (error instanceof AppError) throw unusable(error.message);
    throw otherwise === undefined ? error : unusable(otherwise);
  });
}

function unusable(why: string): AppError {
  return oidcFailure(
    'OIDC_PROVIDER_ERROR',
    `The claims at the provider's UserInfo endpoint can't be read: ${why}.`,
  );
}
