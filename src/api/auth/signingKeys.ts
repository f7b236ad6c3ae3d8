import {
  calculateJwkThumbprint,
  exportJWK,
  generateKeyPair,
  importJWK,
  type CryptoKey,
  type JWK,
} from 'jose';
import type { Clock } from '../../foundation/clock.js';
import {
  deleteReplacedKeys,
  ensureSigningKey,
  insertSigningKey,
  readSigningKeys,
  type StoredSigningKey,
} from '../../db/roles/signIn/signingKeys.js';
import type { Database } from '../../db/pool/database.js';
import type { StatementRunner } from '../../db/sql/statementRunner.js';
import type { KeyRing } from '../../config/secrets.js';

/** ECDSA on P-256: supported by every JWT library, and by Node without a warning. */
export const SIGNING_ALGORITHM = 'ES256';

/** Cache lifetime: after another process rotates the keys, the new one signs here after this time at most. */
const SIGNER_MAX_AGE_MS = 60_000;
/** A token with an unknown key id triggers a reload of the keys, at most this often. */
const MIN_REREAD_INTERVAL_MS = 1_000;
/** Keys are kept longer than needed, because clocks differ. */
const CLOCK_MARGIN_SECONDS = 3_600;

interface Signer {
  readonly kid: string;
  readonly privateKey: CryptoKey;
}

interface LoadedKeys {
  readonly signer: Signer;
  readonly verifiers: ReadonlyMap<string, CryptoKey>;
  readonly loadedAt: number;
}

/** Keys that sign and verify tokens: stored encrypted in the database, shared by all web processes. */
export class SigningKeys {
  #loading: Promise<LoadedKeys> | undefined;

  constructor(
    private readonly pool: Database['pool'],
    private readonly keyRing: KeyRing,
    private readonly clock: Clock,
  ) {}

  /** Creates the installation's first key if there is none. */
  async ensure(): Promise<void> {
    await ensureSigningKey(this.pool, this.keyRing, generateSigningKey);
  }

  async signer(): Promise<Signer> {
    return (await this.#keys(SIGNER_MAX_AGE_MS)).signer;
  }

  /** @returns undefined if no key has the id */
  async verifier(kid: string): Promise<CryptoKey | undefined> {
    const known = (await this.#keys(Infinity)).verifiers.get(kid);
    return known ?? (await this.#keys(MIN_REREAD_INTERVAL_MS)).verifiers.get(kid);
  }

  async #keys(maxAgeMs: number): Promise<LoadedKeys> {
    const current = this.#loading;
    const loaded = await current;
    if (loaded && this.clock.now() - loaded.loadedAt < maxAgeMs) return loaded;
    // Of several callers that waited for the same read, only the first starts another.
    if (this.#loading === current || this.#loading === undefined) this.#loading = this.#reload(loaded);
    return this.#loading;
  }

  /** If the read fails, the cached keys stay in use. */
  async #reload(before: LoadedKeys | undefined): Promise<LoadedKeys> {
    try {
      return await this.#load();
    } catch (error) {
      this.#loading = before && Promise.resolve(before);
      throw error;
    }
  }

  async #load(): Promise<LoadedKeys> {
    const loadedAt = this.clock.now();
    const stored = await readSigningKeys(this.pool, this.keyRing);
    const [newest] = stored;
    if (!newest) throw new Error('the installation has no signing key');
    const verifiers = await Promise.all(
      stored.map(async ({ kid, publicJwk }) => [kid, await importKey(publicJwk)] as const),
    );
    return {
      signer: { kid: newest.kid, privateKey: await importKey(newest.privateJwk) },
      verifiers: new Map(verifiers),
      loadedAt,
    };
  }
}

/**
 * Creates a new signing key and deletes keys whose tokens have all expired.
 * @param longestTokenSeconds the longest lifetime of any token
 */
export async function rotateSigningKey(
  db: StatementRunner,
  keyRing: KeyRing,
  longestTokenSeconds: number,
): Promise<{ readonly kid: string; readonly deleted: readonly string[] }> {
  const key = await generateSigningKey();
  await insertSigningKey(db, keyRing, key);
  const idleSeconds = longestTokenSeconds + SIGNER_MAX_AGE_MS / 1000 + CLOCK_MARGIN_SECONDS;
  return { kid: key.kid, deleted: await deleteReplacedKeys(db, idleSeconds) };
}

async function generateSigningKey(): Promise<StoredSigningKey> {
  const { publicKey, privateKey } = await generateKeyPair(SIGNING_ALGORITHM, { extractable: true });
  const publicJwk = await exportJWK(publicKey);
  return {
    kid: await calculateJwkThumbprint(publicJwk),
    publicJwk: { ...publicJwk },
    privateJwk: { ...(await exportJWK(privateKey)) },
  };
}

async function importKey(jwk: Readonly<Record<string, unknown>>): Promise<CryptoKey> {
  const key = await importJWK(jwk as JWK, SIGNING_ALGORITHM);
  if (key instanceof Uint8Array) throw new Error('a stored signing key is not asymmetric');
  return key;
}
