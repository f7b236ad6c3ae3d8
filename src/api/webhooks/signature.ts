import { createPublicKey, generateKeyPairSync, verify, type KeyObject } from 'node:crypto';
import { LRUCache } from 'lru-cache';

const CURVE = 'prime256v1';
const MAX_CACHED_KEYS = 1_000;

/** A dummy public key: verifying with it when there is no key always fails, in the same time. */
const NOBODYS_KEY = generateKeyPairSync('ec', { namedCurve: CURVE }).publicKey;

/** Verifies signatures of the event webhook: ECDSA over P-256 with SHA-256, DER, of the timestamp and the raw body. */
export class SignatureCheck {
  readonly #keys = new LRUCache<string, KeyObject>({ max: MAX_CACHED_KEYS, memoMethod: readKey });

  /** @param verificationKey base64 DER, as stored; undefined if there is none */
  fits(
    verificationKey: string | undefined,
    signed: { readonly timestamp: string; readonly body: Buffer; readonly signature: string },
  ): boolean {
    const key = verificationKey === undefined ? NOBODYS_KEY : this.#keys.memo(verificationKey);
    const bytes = Buffer.concat([Buffer.from(signed.timestamp), signed.body]);
    const fits = verify(
      'sha256',
      bytes,
      { key, dsaEncoding: 'der' },
      Buffer.from(signed.signature, 'base64'),
    );
    return fits && verificationKey !== undefined;
  }
}

function readKey(verificationKey: string): KeyObject {
  return createPublicKey({ key: Buffer.from(verificationKey, 'base64'), format: 'der', type: 'spki' });
}
