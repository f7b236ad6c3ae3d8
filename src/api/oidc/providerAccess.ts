import type { Clock } from '../../clock.js';
import type { Config } from '../../config.js';
import { createProviderClient, type ProviderClient } from './providerClient.js';
import { ProviderIssuers } from './providerIssuers.js';
import { ProviderKeys } from './providerKeys.js';

/** Access to identity providers: calls of their endpoints, and per-process caches. */
export function createProviderAccess(
  config: Pick<Config, 'production' | 'oidcAllowPrivateNetwork' | 'oidcTimeoutMs'>,
  clock: Clock,
): {
  readonly callProvider: ProviderClient;
  readonly providerKeys: ProviderKeys;
  readonly issuers: ProviderIssuers;
} {
  const callProvider = createProviderClient({
    timeoutMs: config.oidcTimeoutMs,
    allowPrivateNetwork: !config.production || config.oidcAllowPrivateNetwork,
  });
  return {
    callProvider,
    providerKeys: new ProviderKeys(callProvider, clock),
    issuers: new ProviderIssuers(callProvider, clock),
  };
}
