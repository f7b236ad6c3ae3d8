import type { Knex } from 'knex';
import type { KeyRing } from '../../secrets.js';
import { storeAccount } from './emailApiKeys.js';
import type { StoredAccounts } from './loadDeliveries.js';

/** Sets a tenant's transports. @param transports JSON; null for SendGrid alone, whose key is kept either way */
export async function storeEmailTransports(
  knex: Knex,
  keyRing: KeyRing,
  given: { readonly tenantid: number; readonly transports: string | null; readonly setBy: number },
): Promise<void> {
  const { tenantid, transports, setBy } = given;
  await storeAccount(knex, tenantid, {
    transports_encrypted:
      transports === null ? null : keyRing.encrypt(transports, emailTransportsContext(tenantid)),
    set_by: setBy,
  });
}

export interface AccountsNow extends Pick<StoredAccounts, 'apikeyEncrypted' | 'transportsEncrypted'> {
  /** Why the tenant is paused. */
  readonly pausedCode: string | null;
  readonly pausedReason: string | null;
  /** Time left until the provider accepts requests again; 0 if not rate limited. */
  readonly waitMs: number;
  /** ISO 8601 */
  readonly setTime: string;
}

/** @returns undefined when the tenant has set neither key nor transport */
export async function readAccounts(knex: Knex, tenantid: number): Promise<AccountsNow | undefined> {
  return knex('rowpost.email_apikey')
    .where({ tenantid })
    .first<AccountsNow | undefined>(
      'apikey_encrypted as apikeyEncrypted',
      'transports_encrypted as transportsEncrypted',
      'paused_code as pausedCode',
      'paused_reason as pausedReason',
      knex.raw('to_json(set_time) #>> \'{}\' as "setTime"'),
      knex.raw('coalesce(greatest(extract(epoch from wait_until - now()), 0), 0)::float8 * 1000 as "waitMs"'),
    );
}

/** Of all tenants that have set a key or a transport. */
export async function readAllAccounts(
  knex: Knex,
): Promise<readonly (Pick<AccountsNow, 'apikeyEncrypted' | 'transportsEncrypted'> & { tenantid: number })[]> {
  return knex('rowpost.email_apikey')
    .orderBy('tenantid')
    .select('tenantid', 'apikey_encrypted as apikeyEncrypted', 'transports_encrypted as transportsEncrypted');
}

export function decryptEmailTransports(keyRing: KeyRing, tenantid: number, encrypted: string): string {
  return keyRing.decrypt(encrypted, emailTransportsContext(tenantid));
}

/** Encryption context: a ciphertext decrypts for its own tenant only. */
export const emailTransportsContext = (tenantid: number): string => `email_transports:${tenantid}`;
