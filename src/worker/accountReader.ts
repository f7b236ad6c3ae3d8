import { LRUCache } from 'lru-cache';
import type { Account } from '../email/mail/account.js';
import type { EncryptedAccounts } from '../db/delivery/emailAccounts.js';
import { openAccounts } from '../email/mail/openAccounts.js';
import type { KeyRing } from '../secrets.js';

export type AccountReader = (tenantid: number, stored: EncryptedAccounts) => readonly Account[];

const MAX_CACHED = 1_000;

/** Caches decrypted accounts: decrypting is cheap, but not per mail. */
export function createAccountReader(keyRing: KeyRing): AccountReader {
  const known = new LRUCache<string, readonly Account[]>({ max: MAX_CACHED });
  return (tenantid, stored) => {
    const name = `${tenantid}:${stored.apikeyEncrypted}:${stored.transportsEncrypted ?? ''}`;
    const accounts = known.get(name) ?? openAccounts(keyRing, tenantid, stored);
    known.set(name, accounts);
    return accounts;
  };
}
