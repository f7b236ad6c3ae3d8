import { buildAuthorizationUrl, calculatePKCECodeChallenge, None } from 'openid-client';
import type { Config } from '../../config/config.js';
import type { OidcRegistration } from '../../control/oidc/oidcRegistration.js';
import { clientConfiguration } from './clientConfiguration.js';

export interface SignInSecrets {
  readonly state: string;
  readonly nonce: string;
  readonly codeVerifier: string;
}

/** The provider's authorization URL, with a PKCE code challenge (S256). */
export async function authorizationUrl(
  registration: OidcRegistration,
  config: Pick<Config, 'baseUrl'>,
  { state, nonce, codeVerifier }: SignInSecrets,
): Promise<string> {
  const { provider, maxSessionAge, prompt } = registration;
  const configuration = clientConfiguration(
    registration,
    provider.issuer ?? new URL(provider.auth_uri).origin,
    None(),
  );
  const url = buildAuthorizationUrl(configuration, {
    response_type: 'code',
    redirect_uri: config.baseUrl + registration.redirectPath,
    scope: scopeFor(registration),
    state,
    nonce,
    code_challenge: await calculatePKCECodeChallenge(codeVerifier),
    code_challenge_method: 'S256',
    ...(maxSessionAge !== null && { max_age: String(maxSessionAge) }),
    ...(prompt !== null && { prompt }),
  });
  return url.href;
}

/** Requests only the scopes that the claim needs: providers show them to users. */
function scopeFor({
  provider: { comparison_field: comparisonField },
  provisioning,
}: OidcRegistration): string {
  if (provisioning) return ['openid profile email', provisioning.scope ?? []].flat().join(' ');
  if (comparisonField === 'sub') return 'openid';
  if (comparisonField === 'email') return 'openid email';
  return 'openid profile email';
}
