import { LRUCache } from 'lru-cache';
import { decryptEmailApiKey } from '../db/delivery/emailApiKeys.js';
import type { StoredApiKey } from '../db/delivery/loadDeliveries.js';
import type { KeyRing } from '../secrets.js';

const MAX_CACHED_KEYS = 1_000;

/** Caches decrypted keys: decrypting is cheap, but not per mail. */
export function createApiKeyReader(keyRing: KeyRing): (tenantid: number, key: StoredApiKey) => string {
  const known = new LRUCache<string, string>({ max: MAX_CACHED_KEYS });
  return (tenantid, key) => {
    const name = `${tenantid}:${key.encrypted}`;
    const apiKey = known.get(name) ?? decryptEmailApiKey(keyRing, tenantid, key.encrypted);
    known.set(name, apiKey);
    return apiKey;
  };
}
