import { createLocalJWKSet, type JSONWebKeySet } from 'jose';
import type { Clock } from '../../clock.js';
import { oidcFailure } from './oidcFailure.js';
import type { ProviderClient } from './providerClient.js';

export type KeySet = ReturnType<typeof createLocalJWKSet>;

interface ReadKeys {
  readonly keys: Promise<KeySet>;
  readonly readAt: number;
}

/** Cache lifetime: a key revoked by its provider is accepted this long at most. */
const MAX_AGE_MS = 600_000;
const MAX_PROVIDERS = 1_000;

/** Caches providers' signing keys by `jwks_uri`, for minutes. */
export class ProviderKeys {
  readonly #read = new Map<string, ReadKeys>();

  constructor(
    private readonly callProvider: ProviderClient,
    private readonly clock: Clock,
  ) {}

  /**
   * @returns the keys, and whether they were cached: then a token that matches none may be signed with a newer one.
   * Throws AppError OIDC_PROVIDER_ERROR.
   */
  async get(jwksUri: string): Promise<{ keys: KeySet; remembered: boolean }> {
    const known = this.#read.get(jwksUri);
    if (known && this.clock.now() - known.readAt < MAX_AGE_MS) {
      return { keys: await known.keys, remembered: true };
    }
    return { keys: await this.reread(jwksUri), remembered: false };
  }

  /** Throws AppError OIDC_PROVIDER_ERROR; the cached keys then stay in use. */
  reread(jwksUri: string): Promise<KeySet> {
    const before = this.#read.get(jwksUri);
    if (!before && this.#read.size >= MAX_PROVIDERS) this.#read.clear();
    const entry = { keys: this.#fetch(jwksUri), readAt: this.clock.now() };
    this.#read.set(jwksUri, entry);
    entry.keys.catch(() => {
      if (this.#read.get(jwksUri) !== entry) return;
      if (before) this.#read.set(jwksUri, before);
      else this.#read.delete(jwksUri);
    });
    return entry.keys;
  }

  async #fetch(jwksUri: string): Promise<KeySet> {
    const url = new URL(jwksUri);
    const answer = await this.callProvider(url, { method: 'GET', headers: { accept: 'application/json' } });
    const where = `The key set at ${url.host}`;
    if (answer.status !== 200) throw unusable(`${where} answered ${answer.status}.`);
    try {
      return createLocalJWKSet(JSON.parse(answer.body.toString('utf8')) as JSONWebKeySet);
    } catch {
      throw unusable(`${where} is no JSON Web Key Set.`);
    }
  }
}

function unusable(what: string): Error {
  return oidcFailure('OIDC_PROVIDER_ERROR', what, "Check the provider's jwks_uri.");
}
