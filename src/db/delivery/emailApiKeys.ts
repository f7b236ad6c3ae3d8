import type { Knex } from 'knex';
import type { Pool } from 'pg';
import type { KeyRing } from '../../secrets.js';

/** Stores the tenant's one active key; its version distinguishes responses to requests made with an older key. */
export async function storeEmailApiKey(
  knex: Knex,
  keyRing: KeyRing,
  key: { readonly tenantid: number; readonly apikey: string; readonly setBy: number },
): Promise<void> {
  await storeAccount(knex, key.tenantid, {
    apikey_encrypted: keyRing.encrypt(key.apikey, emailApiKeyContext(key.tenantid)),
    set_by: key.setBy,
  });
}

/** Sets some of what a tenant sends by, and keeps the rest. A tenant that was paused is no longer. */
export async function storeAccount(
  knex: Knex,
  tenantid: number,
  values: {
    readonly set_by: number;
    readonly apikey_encrypted?: string;
    readonly transports_encrypted?: string | null;
  },
): Promise<void> {
  await knex('rowpost.email_apikey')
    .insert({ apikey_encrypted: '', ...values, tenantid })
    .onConflict('tenantid')
    .merge({
      ...values,
      version: knex.raw('email_apikey.version + 1'),
      set_time: knex.fn.now(),
      paused_code: null,
      paused_reason: null,
    });
}

/** Whether the tenant can send: it has set a key, or a transport. */
export async function hasAccount(knex: Knex, tenantid: number): Promise<boolean> {
  const row: unknown = await knex('rowpost.email_apikey').where({ tenantid }).first('tenantid');
  return row !== undefined;
}

export function decryptEmailApiKey(keyRing: KeyRing, tenantid: number, encrypted: string): string {
  return keyRing.decrypt(encrypted, emailApiKeyContext(tenantid));
}

/** Encryption context: a ciphertext decrypts for its own tenant only. */
export const emailApiKeyContext = (tenantid: number): string => `email_apikey:${tenantid}`;

export interface KeyStates {
  /** How many tenants have an account. */
  readonly tenants: number;
  /** Those whose account the provider refused, or which are out of credit. */
  readonly paused: readonly number[];
}

export async function readKeyStates(pool: Pool): Promise<KeyStates> {
  const { rows } = await pool.query<KeyStates>(
    `select count(*)::int as tenants,
       coalesce(array_agg(tenantid order by tenantid) filter (where paused_code is not null), '{}') as paused
     from rowpost.email_apikey`,
  );
  return rows[0] ?? { tenants: 0, paused: [] };
}
