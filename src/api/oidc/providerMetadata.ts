import { LRUCache } from 'lru-cache';
import type { OidcProvider } from '../../control/objects/oidcProviders.js';
import type { Clock } from '../../foundation/clock.js';
import { ownValue } from '../../foundation/ownValue.js';
import { isDocument, NO_RESPONSE, placeOf, readDiscoveryDocument } from './discoveryDocument.js';
import { oidcFailure } from './oidcFailure.js';
import type { ProviderClient } from './providerClient.js';

/** What is used of a provider's discovery document besides its issuer; empty without one. */
export interface Metadata {
  readonly userInfoUri?: string;
  /** How clients may authenticate at the token endpoint, as far as it is said. */
  readonly clientAuthMethods?: readonly string[];
  readonly clientAuthAlgorithms?: readonly string[];
}

const MAX_AGE_MS = 600_000;
const MAX_PROVIDERS = 1_000;

/** Caches what providers' discovery documents say, for minutes. */
export class ProviderMetadata {
  readonly #known: LRUCache<string, Metadata, OidcProvider>;

  constructor(callProvider: ProviderClient, clock: Clock) {
    this.#known = new LRUCache({
      max: MAX_PROVIDERS,
      ttl: MAX_AGE_MS,
      ttlResolution: 0,
      perf: clock,
      fetchMethod: (_key, _stale, { context }) => read(callProvider, context),
      noDeleteOnFetchRejection: true,
      ignoreFetchAbort: true,
    });
  }

  /** Throws AppError OIDC_PROVIDER_ERROR when there is no response; what was known then stays known. */
  async get(provider: OidcProvider): Promise<Metadata> {
    if (provider.issuer === null) return {};
    return this.#known.forceFetch(`${provider.issuer} ${provider.jwks_uri}`, { context: provider });
  }
}

async function read(callProvider: ProviderClient, provider: OidcProvider): Promise<Metadata> {
  const found = await readDiscoveryDocument(callProvider, placeOf(provider.issuer ?? ''), provider);
  if (found === NO_RESPONSE)
    throw oidcFailure('OIDC_PROVIDER_ERROR', "The provider's discovery document gave no response.");
  if (!isDocument(found)) return {};
  const userInfoUri = ownValue(found, 'userinfo_endpoint');
  const clientAuthMethods = textsAt(found, 'token_endpoint_auth_methods_supported');
  const clientAuthAlgorithms = textsAt(found, 'token_endpoint_auth_signing_alg_values_supported');
  return {
    ...(isWebAddress(userInfoUri) && { userInfoUri }),
    ...(clientAuthMethods && { clientAuthMethods }),
    ...(clientAuthAlgorithms && { clientAuthAlgorithms }),
  };
}

function isWebAddress(value: unknown): value is string {
  return typeof value === 'string' && URL.canParse(value) && /^https?:$/.test(new URL(value).protocol);
}

function textsAt(document: Readonly<Record<string, unknown>>, name: string): readonly string[] | undefined {
  const value = ownValue(document, name);
  return Array.isArray(value) ? value.filter((text) => typeof text === 'string') : undefined;
}
