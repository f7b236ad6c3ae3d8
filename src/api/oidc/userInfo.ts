import {
  clockTolerance,
  Configuration,
  allowInsecureRequests,
  customFetch,
  enableNonRepudiationChecks,
  fetchUserInfo,
  None,
} from 'openid-client';
import { isTooDeep, type Claims } from '../../control/oidc/claims.js';
import type { OidcRegistration } from '../../control/oidc/oidcRegistration.js';
import { AppError } from '../../foundation/errors.js';
import { explainExchangeError } from './exchangeFailure.js';
import { oidcFailure } from './oidcFailure.js';
import type { ProviderClient } from './providerClient.js';
import { ALGORITHMS, CLOCK_TOLERANCE_SECONDS } from './verifyIdToken.js';

/**
 * The claims at the provider's UserInfo endpoint, which are those of the person of the ID token. A signed response is verified.
 * Throws AppError OIDC_PROVIDER_ERROR.
 */
export async function readUserInfo(
  callProvider: ProviderClient,
  { clientId, provider }: OidcRegistration,
  { userInfoUri, accessToken, sub }: { userInfoUri: string; accessToken: string; sub: string },
): Promise<Claims> {
  const configuration = new Configuration(
    {
      issuer: provider.issuer ?? '',
      userinfo_endpoint: userInfoUri,
      jwks_uri: provider.jwks_uri,
      userinfo_signing_alg_values_supported: ALGORITHMS,
    },
    clientId,
    { [clockTolerance]: CLOCK_TOLERANCE_SECONDS },
    None(),
  );
  // The provider client decides whether plain http is allowed.
  // eslint-disable-next-line @typescript-eslint/no-deprecated
  allowInsecureRequests(configuration);
  enableNonRepudiationChecks(configuration);
  configuration[customFetch] = async (url, { headers }) => {
    const { status, text } = await callProvider(new URL(url), {
      method: 'GET',
      headers: Object.fromEntries(new Headers(headers)),
    });
    // Not every provider says which.
    const type = /^[\w-]+\.[\w-]+\.[\w-]*$/.test(text.trim()) ? 'application/jwt' : 'application/json';
    const isEmpty = [204, 205, 304].includes(status);
    return new Response(isEmpty ? null : text.trim(), {
      status: status >= 200 && status <= 599 ? status : 502,
      headers: { 'content-type': type },
    });
  };
  try {
    const claims = await fetchUserInfo(configuration, accessToken, sub);
    if (isTooDeep(claims)) throw unusable('its claims are nested too deeply');
    return claims;
  } catch (error) {
    const explained = explainExchangeError(error, new URL(userInfoUri));
    if (!(explained instanceof AppError)) throw explained;
    throw unusable(explained.message);
  }
}

function unusable(why: string): AppError {
  return oidcFailure(
    'OIDC_PROVIDER_ERROR',
    `The claims at the provider's UserInfo endpoint can't be read: ${why}.`,
  );
}
