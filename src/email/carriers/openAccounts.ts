import {
  emailApiKeyContext,
  emailTransportsContext,
  type EncryptedAccounts,
} from '../../db/email/emailAccounts.js';
import type { KeyRing } from '../../config/secrets.js';
import type { Account, SendgridAccount } from './account.js';

/** As stored. SendGrid's key is stored separately, because it can be set separately. */
export type StoredTransport = Exclude<Account, SendgridAccount> | Pick<SendgridAccount, 'kind'>;

/** A tenant's accounts, in order of preference. */
export function openAccounts(
  keyRing: KeyRing,
  tenantid: number,
  { apikeyEncrypted, transportsEncrypted }: EncryptedAccounts,
): readonly Account[] {
  const transports = openTransports(keyRing, tenantid, transportsEncrypted);
  return transports.flatMap((transport): readonly Account[] => {
    if (transport.kind !== 'sendgrid') return [transport];
    if (apikeyEncrypted === '') return [];
    return [{ kind: 'sendgrid', apikey: keyRing.decrypt(apikeyEncrypted, emailApiKeyContext(tenantid)) }];
  });
}

export function openTransports(
  keyRing: KeyRing,
  tenantid: number,
  encrypted: string | null,
): readonly StoredTransport[] {
  if (encrypted === null) return [{ kind: 'sendgrid' }];
  return JSON.parse(
    keyRing.decrypt(encrypted, emailTransportsContext(tenantid)),
  ) as readonly StoredTransport[];
}
