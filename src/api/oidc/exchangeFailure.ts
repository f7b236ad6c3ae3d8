import { AuthorizationResponseError, ClientError, ResponseBodyError } from 'openid-client';
import { AppError } from '../../foundation/errors.js';
import { oidcFailure } from './oidcFailure.js';

/**
 * Whether the token endpoint does not accept how the client authenticates, or its secret. RFC 6749 names only
 * `invalid_client` for that; others respond with 401 with a code of their own: Auth0 `access_denied`, Keycloak
 * `unauthorized_client`.
 */
function refusesClient(error: unknown): error is ResponseBodyError {
  return (
    error instanceof ResponseBodyError &&
    (error.error === 'invalid_client' || (error.status === 401 && error.error !== 'invalid_grant'))
  );
}

/** Codes of RFC 6749, 5.2, that say that the client was let in, or that it may not ask for this in any way. */
const OF_THE_GRANT: readonly string[] = ['invalid_grant', 'unsupported_grant_type', 'invalid_scope'];

/**
 * Whether the provider may want client_secret_post. Few say so with `invalid_client`: others miss `client_id` in the form, which
 * is an `invalid_request`, don't authorize a client that they don't know (`unauthorized_client`), have codes of their own, or
 * leave the response to a gateway.
 */
export function mayRefuseBasic(error: unknown): boolean {
  return error instanceof ResponseBodyError && !OF_THE_GRANT.includes(error.error);
}

/** Maps an error of the code exchange to a failure that names the likely cause. */
export function explainExchangeError(error: unknown, callbackUrl: URL): unknown {
  const known = findAppError(error);
  if (known) return known;
  if (refusesClient(error) && !namesRedirectUri(error.error_description)) return clientRefused(error.error);
  if (error instanceof AuthorizationResponseError || error instanceof ResponseBodyError) {
    return explainProviderError(error.error, error.error_description, callbackUrl);
  }
  if (error instanceof ClientError) {
    return oidcFailure('OIDC_PROVIDER_ERROR', `The provider's response can't be used: ${error.message}.`);
  }
  return error;
}

/** RFC 6749, 4.1.2.1 and 5.2, and providers' extensions. */
function explainProviderError(code: string, description: string | undefined, callbackUrl: URL): AppError {
  if (namesRedirectUri(code) || namesRedirectUri(description)) {
    const redirectUri = `${callbackUrl.origin}${callbackUrl.pathname}`;
    return oidcFailure(
      'OIDC_REDIRECT_URI_MISMATCH',
      'The provider knows another redirect URI.',
      `Register exactly ${redirectUri} with the provider.`,
    );
  }
  const shown = shownCode(code);
  switch (code) {
    case 'access_denied':
    case 'login_required':
    case 'interaction_required':
    case 'consent_required':
    case 'account_selection_required':
    case 'user_cancelled_authorize': // Apple
      return oidcFailure('OIDC_LOGIN_REFUSED', `The provider did not sign the user in (${shown}).`);
    case 'invalid_grant':
      return oidcFailure('OIDC_CODE_REFUSED', 'The provider refused the authorization code.');
    case 'invalid_client':
    case 'unauthorized_client':
      return clientRefused(code);
    default:
      return oidcFailure('OIDC_PROVIDER_ERROR', `The provider responded with ${shown}.`);
  }
}

function namesRedirectUri(description: string | undefined): boolean {
  return /redirect[_ ]?ur[il]/i.test(description ?? '');
}

function clientRefused(code: string): AppError {
  return oidcFailure('OIDC_CLIENT_REFUSED', `The provider refused this client (${shownCode(code)}).`);
}

function shownCode(code: string): string {
  return /^[\w.-]{1,64}$/.test(code) ? code : 'error';
}

/** openid-client wraps errors of its fetch. */
function findAppError(error: unknown): AppError | undefined {
  for (let inner = error; inner instanceof Error; inner = inner.cause) {
    if (inner instanceof AppError) return inner;
  }
  return undefined;
}
