import type { StatementRunner } from '../sql/statementRunner.js';

/** A tenant's event webhook. */
export interface EmailWebhookRow {
  /** DER of a SubjectPublicKeyInfo in base64. */
  readonly verification_key: string;
  /** ISO 8601 */
  readonly set_time: string;
}

/** Sets or replaces the public key that verifies the carrier's event reports. */
export async function storeEmailWebhookKey(
  db: StatementRunner,
  key: { readonly tenantid: number; readonly verificationKey: string; readonly setBy: number },
): Promise<void> {
  await db.query(
    `insert into rowpost.email_webhook_key (tenantid, verification_key, set_by) values ($1, $2, $3)
     on conflict (tenantid) do update
     set verification_key = excluded.verification_key, set_by = excluded.set_by, set_time = now()`,
    [key.tenantid, key.verificationKey, key.setBy],
  );
}

/** Without a key every report is rejected. */
export async function deleteEmailWebhookKey(db: StatementRunner, tenantid: number): Promise<void> {
  await db.query('delete from rowpost.email_webhook_key where tenantid = $1', [tenantid]);
}

/** @returns undefined when the tenant has no key or does not exist. */
export async function readEmailWebhookKey(
  db: StatementRunner,
  tenantid: number,
): Promise<EmailWebhookRow | undefined> {
  const { rows } = await db.query<EmailWebhookRow>(
    "select verification_key, to_json(set_time) #>> '{}' as set_time from rowpost.email_webhook_key where tenantid = $1",
    [tenantid],
  );
  return rows[0];
}
