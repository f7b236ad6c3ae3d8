import type { Clock } from '../../clock.js';
import { storeDiscoveredIssuer, type OidcRegistration } from '../../control/oidc/oidcRegistration.js';
import type { OidcProvider } from '../../control/objects/oidcProviders.js';
import type { ControlDb } from '../../db/connection/database.js';
import { AppError } from '../../errors.js';
import type { Logger } from '../../log.js';
import type { ProviderClient } from './providerClient.js';

/** A provider without a discovery document is asked for one again after this long. */
const ASK_AGAIN_MS = 600_000;
const MAX_PROVIDERS = 1_000;
/** Addresses of one provider that are tried. */
const MAX_PLACES = 8;
const WELL_KNOWN = '/.well-known/openid-configuration';

/** Issuers of providers that were saved without one, from their discovery documents. What is found is kept in the database. */
export class ProviderIssuers {
  /** When a provider was asked in vain. */
  readonly #inVain = new Map<string, number>();

  constructor(
    private readonly callProvider: ProviderClient,
    private readonly clock: Clock,
  ) {}

  /** The registration, with the issuer of its provider when that can be had. */
  async complete(
    { knex, log }: { readonly knex: ControlDb; readonly log: Logger },
    registration: OidcRegistration,
  ): Promise<OidcRegistration> {
    const { provider } = registration;
    const known = provider.issuer ?? provider.discovered_issuer;
    if (known !== null) return { ...registration, provider: { ...provider, issuer: known } };
    const key = `${provider.providerid} ${provider.auth_uri} ${provider.jwks_uri}`;
    const askedAt = this.#inVain.get(key);
    if (askedAt !== undefined && this.clock.now() - askedAt < ASK_AGAIN_MS) return registration;
    const issuer = await this.#discover(provider);
    if (issuer === undefined) {
      if (this.#inVain.size >= MAX_PROVIDERS) this.#inVain.clear();
      this.#inVain.set(key, this.clock.now());
      const { providerid } = provider;
      log.warn(
        { providerid },
        'a provider has no issuer: tokens of any issuer on the host of its auth_uri count',
      );
      return registration;
    }
    await storeDiscoveredIssuer(knex, provider, issuer);
    return { ...registration, provider: { ...provider, issuer } };
  }

  async #discover(provider: OidcProvider): Promise<string | undefined> {
    const issuers = await Promise.all(
      placesOf(provider.auth_uri).map((place) => this.#issuerAt(place, provider)),
    );
    return issuers.find((issuer) => issuer !== undefined);
  }

  /** The document must stand where its issuer says (OpenID Connect Discovery 4.3), and name the keys that are verified with. */
  async #issuerAt(place: string, provider: OidcProvider): Promise<string | undefined> {
    const url = new URL(place + WELL_KNOWN);
    try {
      const { status, body } = await this.callProvider(url, {
        method: 'GET',
        headers: { accept: 'application/json' },
      });
      if (status !== 200) return undefined;
      const document: unknown = JSON.parse(body.toString('utf8'));
      const { issuer, jwks_uri } = document as Readonly<Record<string, unknown>>;
      if (typeof issuer !== 'string' || jwks_uri !== provider.jwks_uri) return undefined;
      return issuer.replace(/\/$/, '') === place ? issuer : undefined;
    } catch (error) {
      // No answer, or no document: as good as none.
      if (error instanceof AppError || error instanceof SyntaxError || error instanceof TypeError)
        return undefined;
      throw error;
    }
  }
}

/**
 * Where issuers keep their documents: the address that users sign in at, or one above it, without a step `oauth2` that
 * some put between. The nearest come first.
 */
function placesOf(authUri: string): readonly string[] {
  const { origin, pathname } = new URL(authUri);
  const steps = pathname.split('/').filter((step) => step !== '');
  const above = (path: readonly string[]): string[] =>
    path.map((_step, index) => [origin, ...path.slice(0, path.length - 1 - index)].join('/'));
  const places = [...above(steps), ...above(steps.filter((step) => step !== 'oauth2')), origin];
  return [...new Set(places)].slice(0, MAX_PLACES);
}
