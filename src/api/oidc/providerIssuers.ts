import { LRUCache } from 'lru-cache';
import type { Clock } from '../../foundation/clock.js';
import {
  storeDiscovered,
  type Discovered,
  type OidcRegistration,
} from '../../control/oidc/oidcRegistration.js';
import type { OidcProvider } from '../../control/objects/oidcProviders.js';
import { AppError } from '../../foundation/errors.js';
import type { WebDeps } from '../http/webDeps.js';
import type { ProviderClient } from './providerClient.js';

/** How soon to retry a provider without a discovery document, and one that gave no response. */
const RETRY_AFTER_MS = 600_000;
const RETRY_NO_RESPONSE_AFTER_MS = 60_000;
const MAX_PROVIDERS = 1_000;
/** Discovery URLs tried per provider. */
const MAX_DISCOVERY_URLS = 8;
const MAX_ADDRESS_CHARACTERS = 2_000;
const WELL_KNOWN = '/.well-known/openid-configuration';

const ABSENT = Symbol('the URL has no discovery document');
const NO_RESPONSE = Symbol('the provider gave no response');
/** What a document says, or why there is none. */
type Found = Discovered | typeof ABSENT | typeof NO_RESPONSE;

const isDocument = (found: Found): found is Discovered => typeof found === 'object';

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
    await storeDiscovered(pool, given, document);
    return {
      ...provider,
      issuer: document.issuer,
      sends_iss: document.sendsIss,
      discovered_end_session_uri: document.endSessionUri,
    };
  }

  #discover(provider: OidcProvider): Promise<readonly Found[]> {
    const { issuer } = provider;
    const places = issuer === null ? candidateUrls(provider) : [issuer.replace(/\/$/, '')];
    return Promise.all(places.map((place) => this.#documentAt(place, provider)));
  }

  /** The document must be at the URL derived from its issuer (OpenID Connect Discovery 4.3), and name the configured keys. */
  async #documentAt(place: string, provider: OidcProvider): Promise<Found> {
    const address = place + WELL_KNOWN;
    // An issuer is compared as text, and need not be an address.
    if (!URL.canParse(address) || !/^https?:/.test(address)) return ABSENT;
    const url = new URL(address);
    try {
      const response = await this.callProvider(url, {
        method: 'GET',
        headers: { accept: 'application/json' },
      });
      if (response.status >= 500 || response.status === 429) return NO_RESPONSE;
      if (response.status !== 200) return ABSENT;
      const document: unknown = JSON.parse(response.text);
      const { issuer, jwks_uri, ...more } = document as Readonly<Record<string, unknown>>;
      if (typeof issuer !== 'string' || jwks_uri !== provider.jwks_uri) return ABSENT;
      if (issuer !== (provider.issuer ?? issuer) || issuer.replace(/\/$/, '') !== place) return ABSENT;
      return {
        issuer,
        sendsIss: more['authorization_response_iss_parameter_supported'] === true,
        endSessionUri: readAddress(more['end_session_endpoint']),
      };
    } catch (error) {
      if (error instanceof AppError) return NO_RESPONSE;
      // No document.
      if (error instanceof SyntaxError || error instanceof TypeError) return ABSENT;
      throw error;
    }
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
