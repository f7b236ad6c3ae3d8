import { calculatePKCECodeChallenge } from 'oauth4webapi';
import type { OidcRegistration } from '../../control/oidc/oidcRegistration.js';

export interface SignInSecrets {
  readonly state: string;
  readonly nonce: string;
  readonly codeVerifier: string;
}

/** The provider's authorization URL, with a PKCE code challenge (S256). */
export async function authorizationUrl(
  { clientId, provider }: OidcRegistration,
  redirectUri: string,
  { state, nonce, codeVerifier }: SignInSecrets,
): Promise<string> {
  const url = new URL(provider.auth_uri);
  const parameters = {
    client_id: clientId,
    response_type: 'code',
    redirect_uri: redirectUri,
    scope: scopeFor(provider.comparison_field),
    state,
    nonce,
    code_challenge: await calculatePKCECodeChallenge(codeVerifier),
    code_challenge_method: 'S256',
  };
  for (const [name, value] of Object.entries(parameters)) url.searchParams.append(name, value);
  return url.href;
}

/** Requests only the scopes that the claim needs: providers show them to users. */
function scopeFor(comparisonField: string): string {
  if (comparisonField === 'sub') return 'openid';
  if (comparisonField === 'email') return 'openid email';
  return 'openid profile email';
}
