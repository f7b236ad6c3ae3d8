import type { OidcProvider } from '../../control/objects/oidcProviders.js';

/** Whether an `iss` is the provider's: equal to its issuer or, if none is configured or discovered, on the host of `auth_uri`. */
export function isIssuerOf(provider: OidcProvider, iss: unknown): iss is string {
  if (typeof iss !== 'string') return false;
  if (provider.issuer !== null) return iss === provider.issuer;
  return URL.canParse(iss) && new URL(iss).host === new URL(provider.auth_uri).host;
}
