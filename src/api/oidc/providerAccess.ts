import type { Clock } from '../../clock.js';
import type { Config } from '../../config.js';
import { createProviderClient, type ProviderClient } from './providerClient.js';
import { ProviderKeys } from './providerKeys.js';

/** The ways to identity providers: calls of their endpoints, and their keys, which a process remembers. */
export function createProviderAccess(
  config: Pick<Config, 'production' | 'oidcAllowPrivateNetwork' | 'oidcTimeoutMs'>,
  clock: Clock,
): { readonly callProvider: ProviderClient; readonly providerKeys: ProviderKeys } {
  const callProvider = createProviderClient({
    timeoutMs: config.oidcTimeoutMs,
    allowPrivateNetwork: !config.production || config.oidcAllowPrivateNetwork,
  });
  return { callProvider, providerKeys: new ProviderKeys(callProvider, clock) };
}
