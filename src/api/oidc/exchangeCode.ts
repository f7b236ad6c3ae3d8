import { authorizationCodeGrant, customFetch, type ClientAuth, type CustomFetch } from 'openid-client';
import type { OidcRegistration } from '../../control/oidc/oidcRegistration.js';
import { parseJsonObject } from '../../foundation/json/losslessJson.js';
import { clientConfiguration } from './clientConfiguration.js';
import { explainExchangeError, mayRefuseBasic } from './exchangeFailure.js';
import { isIssuerOf, otherIssuerHint } from './issuer.js';
import { oidcFailure } from './oidcFailure.js';
import type { ProviderClient, ProviderResponse } from './providerClient.js';

export interface CodeExchange {
  readonly registration: OidcRegistration;
  /** The redirect URI with the provider's parameters. */
  readonly callbackUrl: URL;
  readonly state: string;
  readonly codeVerifier: string;
  /** How the client authenticates, and how else if the provider refuses that. */
  readonly clientAuth: readonly [ClientAuth, ...ClientAuth[]];
}

/** What the provider gives for a code. */
export interface Exchanged {
  /** Not verified yet. */
  readonly idToken: string;
  /** For the provider's UserInfo endpoint. */
  readonly accessToken: string | undefined;
}

/**
 * Exchanges the code for an ID token.
 * Throws AppError OIDC_CODE_REFUSED, OIDC_CLIENT_REFUSED, OIDC_REDIRECT_URI_MISMATCH, OIDC_LOGIN_REFUSED, OIDC_PROVIDER_ERROR.
 */
export async function exchangeCode(callProvider: ProviderClient, exchange: CodeExchange): Promise<Exchanged> {
  const [clientAuth, other] = exchange.clientAuth;
  try {
    return await request(callProvider, exchange, clientAuth).catch((error: unknown) => {
      if (!other || !mayRefuseBasic(error)) throw error;
      return request(callProvider, exchange, other);
    });
  } catch (error) {
    throw explainExchangeError(error, exchange.callbackUrl);
  }
}

async function request(
  callProvider: ProviderClient,
  { registration, callbackUrl, state, codeVerifier }: CodeExchange,
  clientAuth: ClientAuth,
): Promise<Exchanged> {
  const { provider } = registration;
  const issuer =
    readIssuer(registration, callbackUrl) ?? provider.issuer ?? new URL(provider.auth_uri).origin;
  const configuration = clientConfiguration(registration, issuer, clientAuth);
  const taker = takeTokens(callProvider);
  configuration[customFetch] = taker.fetch;
  await authorizationCodeGrant(configuration, callbackUrl, {
    expectedState: state,
    pkceCodeVerifier: codeVerifier,
  });
  const { idToken, accessToken } = taker.taken();
  if (idToken !== undefined) return { idToken, accessToken };
  throw oidcFailure('OIDC_PROVIDER_ERROR', 'The provider responded to the code without an ID token.');
}

/**
 * The parameter `iss` of a callback (RFC 9207). Where other providers have the same redirect URI, the code may be one of theirs,
 * and is sent to no token endpoint unless the parameter says whose it is. Throws AppError OIDC_PROVIDER_ERROR.
 */
function readIssuer({ provider, requiresIss }: OidcRegistration, { searchParams }: URL): string | undefined {
  const [given, ...others] = searchParams.getAll('iss');
  if (given === undefined && !requiresIss) return undefined;
  if (given === undefined || others.length > 0) {
    throw oidcFailure(
      'OIDC_PROVIDER_ERROR',
      'The provider did not say that the code is its own (parameter iss).',
      'Its discovery document promises the parameter. If the provider has changed, create the configuration again.',
    );
  }
  // Without an issuer, the parameter is compared with the host of auth_uri, which several providers may have.
  if (isIssuerOf(provider, given) && (provider.issuer !== null || !requiresIss)) return given;
  throw oidcFailure(
    'OIDC_PROVIDER_ERROR',
    'Another issuer than the provider came with the code (parameter iss).',
    otherIssuerHint(provider),
  );
}

/**
 * Stands for what comes with the ID token: only some of it is used, and not every provider sends it as RFC 6749 wants. Azure AD
 * B2C has no access token for the scope `openid` alone.
 */
const NOTHING_ELSE = '{"access_token": "unused", "token_type": "bearer"}';

/**
 * Removes the ID token from the response before openid-client reads it, which would check claims against one fixed issuer
 * and not check the signature. `verifyIdToken` checks both, with distinct errors.
 */
function takeTokens(callProvider: ProviderClient): {
  fetch: CustomFetch;
  taken: () => { readonly idToken?: string; readonly accessToken?: string };
} {
  let taken: { readonly idToken?: string; readonly accessToken?: string } = {};
  return {
    taken: () => taken,
    fetch: async (url, { headers, body }) => {
      const response = await callProvider(new URL(url), {
        method: 'POST',
        headers: Object.fromEntries(new Headers(headers)),
        body: formText(body),
      });
      const { status, text } = conform(response);
      const values = status === 200 ? parseJsonObject(text) : undefined;
      const [idToken, accessToken] = [values?.['id_token'], values?.['access_token']];
      if (typeof idToken === 'string')
        taken = { idToken, ...(typeof accessToken === 'string' && { accessToken }) };
      const empty = [204, 205, 304].includes(status);
      return new Response(empty ? null : taken.idToken === undefined ? text : NOTHING_ELSE, {
        status,
        // Not every provider says so, and anything else is found not to parse.
        headers: { 'content-type': 'application/json' },
      });
    },
  };
}

/** A response as RFC 6749, 5.2, wants it, where it is clear what the provider means. */
function conform({ status, text }: ProviderResponse): ProviderResponse {
  const values = parseJsonObject(text);
  const saysError = typeof values?.['error'] === 'string';
  // Slack.
  if (status === 200 && saysError && values['id_token'] === undefined) return { status: 400, text };
  // The server, or a gateway before it, refuses HTTP Basic without a reason.
  if (status === 401 && !saysError) return { status, text: '{"error": "invalid_client"}' };
  if ([400, 403].includes(status) && !saysError) return { status, text: `{"error": "http_${status}"}` };
  // The Response class accepts no other statuses, none of which comes with a token.
  return { status: status >= 200 && status <= 599 ? status : 502, text };
}

function formText(body: unknown): string {
  if (body instanceof URLSearchParams) return body.toString();
  throw new Error('a token request is a form');
}
