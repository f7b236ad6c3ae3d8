import {
  emailApiKeyContext,
  emailTransportsContext,
  type EncryptedAccounts,
} from '../../db/email/emailAccounts.js';
import type { KeyRing } from '../../config/secrets.js';
import type { Account } from './account.js';

/** A tenant's accounts, in order of preference. */
export function openAccounts(
  keyRing: KeyRing,
  tenantid: number,
  { apikeyEncrypted, accountsEncrypted }: EncryptedAccounts,
): readonly Account[] {
  const stored = openStoredAccounts(keyRing, tenantid, accountsEncrypted);
  return stored.flatMap((account): readonly Account[] => {
    if (account.kind !== 'sendgrid') return [account];
    if (apikeyEncrypted === '') return [];
    return [{ kind: 'sendgrid', apikey: keyRing.decrypt(apikeyEncrypted, emailApiKeyContext(tenantid)) }];
  });
}

/** As they are stored: SendGrid's key is stored separately, because it can be set separately. */
export function openStoredAccounts(
  keyRing: KeyRing,
  tenantid: number,
  encrypted: string | null,
): readonly Account[] {
  if (encrypted === null) return [{ kind: 'sendgrid' }];
  return JSON.parse(keyRing.decrypt(encrypted, emailTransportsContext(tenantid))) as readonly Account[];
}
