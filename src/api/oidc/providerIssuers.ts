import { LRUCache } from 'lru-cache';
import type { Clock } from '../../foundation/clock.js';
import { storeDiscovered, type OidcRegistration } from '../../control/oidc/oidcRegistration.js';
import type { OidcProvider } from '../../control/objects/oidcProviders.js';
import type { WebDeps } from '../http/webDeps.js';
import { isDocument, NO_RESPONSE, placeOf, readDiscoveryDocument, type Found } from './discoveryDocument.js';
import type { ProviderClient } from './providerClient.js';

/** How soon to retry a provider without a discovery document, and one that gave no response. */
const RETRY_AFTER_MS = 600_000;
const RETRY_NO_RESPONSE_AFTER_MS = 60_000;
const MAX_PROVIDERS = 1_000;
/** Discovery URLs tried per provider. */
const MAX_DISCOVERY_URLS = 8;
const MAX_ADDRESS_CHARACTERS = 2_000;

/** Discovers the issuers of providers configured without one, whether callbacks name them, and where people sign out, and stores that in the database. */
export class ProviderIssuers {
  /** Providers without a discovery document. */
  readonly #failed: LRUCache<string, true>;

  constructor(
    private readonly callProvider: ProviderClient,
    clock: Clock,
  ) {
    this.#failed = new LRUCache({ max: MAX_PROVIDERS, ttl: RETRY_AFTER_MS, ttlResolution: 0, perf: clock });
  }

  /** The registration with what can be discovered of its provider. What is known stays known while that gives no response. */
  async complete(deps: WebDeps, registration: OidcRegistration): Promise<OidcRegistration> {
    const provider = await this.learn(deps, registration.provider);
    return {
      ...registration,
      provider,
      requiresIss: registration.requiresIss || provider.sends_iss === true,
    };
  }

  async learn({ database: { pool }, log }: WebDeps, given: OidcProvider): Promise<OidcProvider> {
    const provider = { ...given, issuer: given.issuer ?? given.discovered_issuer };
    const { sends_iss, discovered_end_session_uri } = provider;
    if (provider.issuer !== null && sends_iss !== null && discovered_end_session_uri !== null)
      return provider;
    const key = `${provider.providerid} ${provider.issuer ?? ''} ${provider.auth_uri} ${provider.jwks_uri}`;
    if (this.#failed.has(key)) return provider;
    const found = await this.#discover(provider);
    const document = found.find(isDocument);
    if (document === undefined) {
      const ttl = found.includes(NO_RESPONSE) ? RETRY_NO_RESPONSE_AFTER_MS : RETRY_AFTER_MS;
      this.#failed.set(key, true, { ttl });
      const { providerid, issuer } = provider;
      if (issuer === null) {
        log.warn(
          { providerid },
          'a provider has no issuer: tokens of any issuer on the host of its auth_uri count',
        );
      }
      return provider;
    }
    const discovered = {
      issuer: document.issuer,
      sendsIss: document['authorization_response_iss_parameter_supported'] === true,
      endSessionUri: readAddress(document['end_session_endpoint']),
    };
    await storeDiscovered(pool, given, discovered);
    return {
      ...provider,
      issuer: discovered.issuer,
      sends_iss: discovered.sendsIss,
      discovered_end_session_uri: discovered.endSessionUri,
    };
  }

  #discover(provider: OidcProvider): Promise<readonly Found[]> {
    const { issuer } = provider;
    const places = issuer === null ? candidateUrls(provider) : [placeOf(issuer)];
    return Promise.all(places.map((place) => readDiscoveryDocument(this.callProvider, place, provider)));
  }
}

/** Browsers are sent there. Empty if it is none. */
function readAddress(given: unknown): string {
  const isAddress =
    typeof given === 'string' && URL.canParse(given) && given.length <= MAX_ADDRESS_CHARACTERS;
  return isAddress && /^https?:$/.test(new URL(given).protocol) ? given : '';
}

/** Candidate discovery URLs, also those above the key set: Cognito's issuer is on its host, not on that of `auth_uri`. */
function candidateUrls({ auth_uri, jwks_uri }: OidcProvider): readonly string[] {
  return [...new Set([...urlsAbove(auth_uri), ...urlsAbove(jwks_uri)])].slice(0, MAX_DISCOVERY_URLS);
}

/** A URL's parents, then those without the `oauth2` segment that some insert. Nearest first. */
function urlsAbove(url: string): readonly string[] {
  const { origin, pathname } = new URL(url);
  const steps = pathname.split('/').filter((step) => step !== '');
  const above = (path: readonly string[]): string[] =>
    path.map((_step, index) => [origin, ...path.slice(0, path.length - 1 - index)].join('/'));
  return [...above(steps), ...above(steps.filter((step) => step !== 'oauth2')), origin];
}
