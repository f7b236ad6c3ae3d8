import { decryptEmailApiKey } from '../../db/delivery/emailApiKeys.js';
import { decryptEmailTransports } from '../../db/delivery/emailTransports.js';
import type { StoredAccounts } from '../../db/delivery/loadDeliveries.js';
import type { KeyRing } from '../../secrets.js';
import type { Account, SendgridAccount } from './account.js';

/** As stored: SendGrid's key is stored apart, so that it can be set apart. */
export type StoredTransport = Exclude<Account, SendgridAccount> | Pick<SendgridAccount, 'kind'>;

export type EncryptedAccounts = Pick<StoredAccounts, 'apikeyEncrypted' | 'transportsEncrypted'>;

/** The accounts that a tenant sends by, first to last. */
export function openAccounts(
  keyRing: KeyRing,
  tenantid: number,
  { apikeyEncrypted, transportsEncrypted }: EncryptedAccounts,
): readonly Account[] {
  const transports = openTransports(keyRing, tenantid, transportsEncrypted);
  return transports.flatMap((transport): readonly Account[] => {
    if (transport.kind !== 'sendgrid') return [transport];
    if (apikeyEncrypted === '') return [];
    return [{ kind: 'sendgrid', apikey: decryptEmailApiKey(keyRing, tenantid, apikeyEncrypted) }];
  });
}

export function openTransports(
  keyRing: KeyRing,
  tenantid: number,
  encrypted: string | null,
): readonly StoredTransport[] {
  if (encrypted === null) return [{ kind: 'sendgrid' }];
  return JSON.parse(decryptEmailTransports(keyRing, tenantid, encrypted)) as readonly StoredTransport[];
}
