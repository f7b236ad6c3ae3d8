import { buildAuthorizationUrl, calculatePKCECodeChallenge, None } from 'openid-client';
import type { OidcRegistration } from '../../control/oidc/oidcRegistration.js';
import { clientConfiguration } from './clientConfiguration.js';

export interface SignInSecrets {
  readonly state: string;
  readonly nonce: string;
  readonly codeVerifier: string;
}

/** The address of the provider's login, with a code challenge (S256) instead of the verifier. */
export async function authorizationUrl(
  registration: OidcRegistration,
  redirectUri: string,
  { state, nonce, codeVerifier }: SignInSecrets,
): Promise<string> {
  const { provider } = registration;
  const configuration = clientConfiguration(
    registration,
    provider.issuer ?? new URL(provider.auth_uri).origin,
    None(),
  );
  const url = buildAuthorizationUrl(configuration, {
    response_type: 'code',
    redirect_uri: redirectUri,
    scope: scopeFor(provider.comparison_field),
    state,
    nonce,
    code_challenge: await calculatePKCECodeChallenge(codeVerifier),
    code_challenge_method: 'S256',
  });
  return url.href;
}

/** Asks for no more than the claim needs: providers show users what is asked for. */
function scopeFor(comparisonField: string): string {
  if (comparisonField === 'sub') return 'openid';
  if (comparisonField === 'email') return 'openid email';
  return 'openid profile email';
}
