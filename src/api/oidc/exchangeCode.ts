import {
  allowInsecureRequests,
  authorizationCodeGrantRequest,
  ClientSecretBasic,
  ClientSecretPost,
  customFetch,
  processAuthorizationCodeResponse,
  ResponseBodyError,
  validateAuthResponse,
  type ClientAuth,
} from 'oauth4webapi';
import type { OidcRegistration } from '../../control/oidc/oidcRegistration.js';
import { explainExchangeError } from './exchangeFailure.js';
import { isIssuerOf } from './issuer.js';
import { oidcFailure } from './oidcFailure.js';
import type { ProviderClient } from './providerClient.js';

export interface CodeExchange {
  readonly registration: OidcRegistration;
  /** The redirect URI with the provider's parameters. */
  readonly callbackUrl: URL;
  readonly state: string;
  readonly codeVerifier: string;
}

/**
 * The code for an ID token, not verified yet. The client authenticates by client_secret_basic; a provider that refuses
 * that as `invalid_client` is asked again with client_secret_post.
 * Throws AppError OIDC_CODE_REFUSED, OIDC_CLIENT_REFUSED, OIDC_REDIRECT_URI_MISMATCH, OIDC_LOGIN_REFUSED, OIDC_PROVIDER_ERROR.
 */
export async function exchangeCode(callProvider: ProviderClient, exchange: CodeExchange): Promise<string> {
  const { clientSecret } = exchange.registration;
  try {
    return await request(callProvider, exchange, ClientSecretBasic(clientSecret)).catch((error: unknown) => {
      if (!(error instanceof ResponseBodyError) || error.error !== 'invalid_client') throw error;
      return request(callProvider, exchange, ClientSecretPost(clientSecret));
    });
  } catch (error) {
    throw explainExchangeError(error, exchange.callbackUrl);
  }
}

async function request(
  callProvider: ProviderClient,
  { registration, callbackUrl, state, codeVerifier }: CodeExchange,
  clientAuth: ClientAuth,
): Promise<string> {
  const { clientId, provider } = registration;
  // Without a configured issuer, one beside the code is held against the host of auth_uri instead.
  const given = callbackUrl.searchParams.get('iss');
  const issuer = isIssuerOf(provider, given) ? given : (provider.issuer ?? new URL(provider.auth_uri).origin);
  const server = { issuer, token_endpoint: provider.token_uri };
  const client = { client_id: clientId };
  const response = await authorizationCodeGrantRequest(
    server,
    client,
    clientAuth,
    validateAuthResponse(server, client, callbackUrl, state),
    `${callbackUrl.origin}${callbackUrl.pathname}`,
    codeVerifier,
    {
      [customFetch]: (url, init) => callProvider(new URL(url), init),
      // The provider client decides whether plain http is allowed.
      [allowInsecureRequests]: true,
    },
  );
  // Only errors are left to the library. It would hold an ID token's claims against one fixed issuer, and verify no
  // signature: `verifyIdToken` checks both, with errors that tell them apart.
  if (response.status !== 200) await processAuthorizationCodeResponse(server, client, response);
  const answer = (await response.json().catch(() => null)) as { readonly id_token?: unknown } | null;
  if (typeof answer?.id_token === 'string') return answer.id_token;
  throw oidcFailure('OIDC_PROVIDER_ERROR', 'The provider answered the code without an ID token.');
}
