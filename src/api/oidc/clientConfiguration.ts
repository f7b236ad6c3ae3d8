import { allowInsecureRequests, Configuration, type ClientAuth } from 'openid-client';
import type { OidcRegistration } from '../../control/oidc/oidcRegistration.js';

/** A registration as a configuration of openid-client. @param issuer the required value of an `iss` parameter next to the code, if there is one */
export function clientConfiguration(
  { clientId, provider }: OidcRegistration,
  issuer: string,
  clientAuth: ClientAuth,
): Configuration {
  const configuration = new Configuration(
    {
      issuer,
      authorization_endpoint: provider.auth_uri,
      token_endpoint: provider.token_uri,
      jwks_uri: provider.jwks_uri,
    },
    clientId,
    undefined,
    clientAuth,
  );
  // The provider client decides whether plain http is allowed.
  // eslint-disable-next-line @typescript-eslint/no-deprecated
  allowInsecureRequests(configuration);
  return configuration;
}
