import type { OidcProvider } from '../../control/objects/oidcProviders.js';

/** Whether an `iss` is the provider's: equal to its issuer or, if none is configured or discovered, on the host of `auth_uri`. */
export function isIssuerOf(provider: OidcProvider, iss: unknown): iss is string {
  if (typeof iss !== 'string') return false;
  if (provider.issuer !== null) return iss === provider.issuer;
  return URL.canParse(iss) && new URL(iss).host === new URL(provider.auth_uri).host;
}

/** What to do if another issuer than the provider's comes with a code or in an ID token. */
export function otherIssuerHint({ issuer }: OidcProvider): string {
  return issuer === null
    ? 'The provider has no issuer yet, and this one is not on the host of auth_uri: set issuer to the iss of its ID tokens.'
    : 'The issuer that is given for the provider, or that its discovery document names, differs from this one, perhaps by a slash at its end.';
}
