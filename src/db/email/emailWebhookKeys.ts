import type { Knex } from 'knex';

/** A tenant's event webhook. */
export interface EmailWebhookRow {
  /** DER of a SubjectPublicKeyInfo in base64. */
  readonly verification_key: string;
  /** ISO 8601 */
  readonly set_time: string;
}

/** Sets or replaces the public key that verifies the carrier's event reports. */
export async function storeEmailWebhookKey(
  knex: Knex,
  key: { readonly tenantid: number; readonly verificationKey: string; readonly setBy: number },
): Promise<void> {
  const values = { verification_key: key.verificationKey, set_by: key.setBy };
  await knex('rowpost.email_webhook_key')
    .insert({ ...values, tenantid: key.tenantid })
    .onConflict('tenantid')
    .merge({ ...values, set_time: knex.fn.now() });
}

/** Without a key every report is rejected. */
export async function deleteEmailWebhookKey(knex: Knex, tenantid: number): Promise<void> {
  await knex('rowpost.email_webhook_key').where({ tenantid }).delete();
}

/** @returns undefined when the tenant has no key or does not exist. */
export async function readEmailWebhookKey(
  knex: Knex,
  tenantid: number,
): Promise<EmailWebhookRow | undefined> {
  return knex('rowpost.email_webhook_key')
    .where({ tenantid })
    .first<EmailWebhookRow | undefined>(
      'verification_key',
      knex.raw("to_json(set_time) #>> '{}' as set_time"),
    );
}
