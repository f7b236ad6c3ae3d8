import type { Config } from '../../config.js';
import type { Logger } from '../../log.js';
import type { KeyRing } from '../../secrets.js';
import type { SignInDeps } from '../auth/signIn.js';
import type { ProviderClient } from './providerClient.js';
import type { ProviderIssuers } from './providerIssuers.js';
import type { ProviderKeys } from './providerKeys.js';

/** What the steps of a sign-in through a provider stand on. */
export interface OidcDeps extends SignInDeps {
  readonly keyRing: KeyRing;
  readonly log: Logger;
  readonly config: Pick<Config, 'baseUrl' | 'production' | 'oidcAllowPrivateNetwork' | 'oidcReturnOrigins'>;
  readonly callProvider: ProviderClient;
  readonly providerKeys: ProviderKeys;
  readonly issuers: ProviderIssuers;
}

/** Where the provider sends the browser back to: registered there exactly so. */
export function redirectUri(deps: OidcDeps): string {
  return `${deps.config.baseUrl}/oidc`;
}
