import type { Config } from '../../config.js';
import type { Logger } from '../../log.js';
import type { KeyRing } from '../../secrets.js';
import type { SignInDeps } from '../auth/signIn.js';
import type { ProviderClient } from './providerClient.js';
import type { ProviderIssuers } from './providerIssuers.js';
import type { ProviderKeys } from './providerKeys.js';

/** Dependencies of a sign-in through a provider. */
export interface OidcDeps extends SignInDeps {
  readonly keyRing: KeyRing;
  readonly log: Logger;
  readonly config: Pick<
    Config,
    'baseUrl' | 'cell' | 'production' | 'oidcAllowPrivateNetwork' | 'oidcReturnOrigins'
  >;
  readonly callProvider: ProviderClient;
  readonly providerKeys: ProviderKeys;
  readonly issuers: ProviderIssuers;
}

/** The redirect URI, exactly as registered with the provider. */
export function redirectUri(deps: OidcDeps): string {
  return `${deps.config.baseUrl}/oidc`;
}
