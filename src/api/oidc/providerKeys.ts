import {
  createLocalJWKSet,
  errors,
  importJWK,
  type JSONWebKeySet,
  type JWK,
  type JWTVerifyGetKey,
} from 'jose';
import { LRUCache } from 'lru-cache';
import type { Clock } from '../../foundation/clock.js';
import { isJsonObject } from '../../foundation/json/losslessJson.js';
import { ownValue } from '../../foundation/ownValue.js';
import { oidcFailure } from './oidcFailure.js';
import type { ProviderClient } from './providerClient.js';

export type KeySet = JWTVerifyGetKey;

/** Cache lifetime: a key revoked by its provider is accepted for at most this long. */
const MAX_AGE_MS = 600_000;
const MAX_PROVIDERS = 1_000;
/** Of a provider: Microsoft Entra has twenty. */
const MAX_KEYS = 100;
/** 4,096 bits, before which some write a zero. A longer modulus or exponent takes up to 10 ms for each token. */
const MAX_MODULUS_BYTES = 513;
const MAX_EXPONENT_BYTES = 8;

/** Caches providers' signing keys by `jwks_uri`, for minutes. */
export class ProviderKeys {
  readonly #keySets: LRUCache<string, KeySet>;

  constructor(callProvider: ProviderClient, clock: Clock) {
    this.#keySets = new LRUCache({
      max: MAX_PROVIDERS,
      ttl: MAX_AGE_MS,
      ttlResolution: 0,
      perf: clock,
      fetchMethod: (jwksUri) => fetchKeySet(callProvider, new URL(jwksUri)),
      noDeleteOnFetchRejection: true,
      ignoreFetchAbort: true,
    });
  }

  /**
   * @returns the keys, and whether they were cached: if so, a token that matches none may be signed with a newer one.
   * Throws AppError OIDC_PROVIDER_ERROR.
   */
  async get(jwksUri: string): Promise<{ keys: KeySet; isCached: boolean }> {
    const isCached = this.#keySets.has(jwksUri);
    return { keys: await this.#keySets.forceFetch(jwksUri), isCached };
  }

  /** Since the cached keys were fetched. */
  ageMs(jwksUri: string): number {
    return MAX_AGE_MS - this.#keySets.getRemainingTTL(jwksUri);
  }

  /** Throws AppError OIDC_PROVIDER_ERROR; the cached keys then stay in use. */
  reread(jwksUri: string): Promise<KeySet> {
    return this.#keySets.forceFetch(jwksUri, { forceRefresh: true });
  }
}

async function fetchKeySet(callProvider: ProviderClient, url: URL): Promise<KeySet> {
  const response = await callProvider(url, { method: 'GET', headers: { accept: 'application/json' } });
  const where = `The key set at ${url.host}`;
  if (response.status !== 200) throw unusable(`${where} responded with ${response.status}.`);
  try {
    return await readKeySet(JSON.parse(response.text) as JSONWebKeySet);
  } catch {
    throw unusable(`${where} is no JSON Web Key Set.`);
  }
}

/**
 * RFC 7517: a key need not have an id (4.5), and what can't be understood is left out (5). At once, because jose would try to import such
 * a key again with each token.
 */
async function readKeySet({ keys }: JSONWebKeySet): Promise<KeySet> {
  if (!Array.isArray(keys)) throw new TypeError('no list of keys');
  const known: JWK[] = [];
  for (const key of keys.slice(0, MAX_KEYS)) if (await isUsable(key)) known.push(key);
  const all = createLocalJWKSet({ keys: known });
  const nameless = createLocalJWKSet({ keys: known.filter(({ kid }) => !kid) });
  return (header, token) =>
    all(header, token).catch((error: unknown) => {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
      const unnamed = { ...header };
      delete unnamed.kid;
      return nameless(unnamed);
    });
}

/** For keys that name no algorithm: one of their kind, by which they can be imported. */
const ALGORITHM_OF_CURVE: Readonly<Record<string, string>> = {
  'P-256': 'ES256',
  'P-384': 'ES384',
  'P-521': 'ES512',
  Ed25519: 'Ed25519',
};

async function isUsable(key: unknown): Promise<boolean> {
  if (!isJsonObject(key)) return false;
  const { kty, n, e, crv, alg } = key;
  const isRsa = kty === 'RSA';
  if (isRsa && !(isWithin(n, MAX_MODULUS_BYTES) && isWithin(e, MAX_EXPONENT_BYTES))) return false;
  const algorithm = isRsa ? 'RS256' : typeof crv === 'string' ? ownValue(ALGORITHM_OF_CURVE, crv) : undefined;
  if (algorithm === undefined) return false;
  try {
    await importJWK(key, typeof alg === 'string' ? alg : algorithm);
    return true;
  } catch {
    return false;
  }
}

function isWithin(base64url: unknown, bytes: number): boolean {
  return typeof base64url === 'string' && Buffer.byteLength(base64url, 'base64url') <= bytes;
}

function unusable(what: string): Error {
  return oidcFailure('OIDC_PROVIDER_ERROR', what, "Check the provider's jwks_uri.");
}
