import type { Knex } from 'knex';
import type { KeyRing } from '../../secrets.js';

/** Stores the tenant's one active key; its version tells the provider's answers about older keys apart. */
export async function storeEmailApiKey(
  knex: Knex,
  keyRing: KeyRing,
  key: { readonly tenantid: number; readonly apikey: string; readonly setBy: number },
): Promise<void> {
  const values = {
    apikey_encrypted: keyRing.encrypt(key.apikey, `email_apikey:${key.tenantid}`),
    set_by: key.setBy,
  };
  await knex('rowpost.email_apikey')
    .insert({ ...values, tenantid: key.tenantid })
    .onConflict('tenantid')
    .merge({
      ...values,
      version: knex.raw('email_apikey.version + 1'),
      set_time: knex.fn.now(),
      paused_code: null,
      paused_reason: null,
    });
}

export async function hasEmailApiKey(knex: Knex, tenantid: number): Promise<boolean> {
  const row: unknown = await knex('rowpost.email_apikey').where({ tenantid }).first('tenantid');
  return row !== undefined;
}
