import type { Knex } from 'knex';
import type { KeyRing } from '../../config/secrets.js';
import { sql, statement, wholeNumber } from '../sql/sql.js';

/** Longer than the age at which a signed report is rejected. */
const TOKENS_KEPT = sql`interval '2 days'`;
/** Expired tokens that each new one deletes: a tenant can make millions, which would take one statement too long. */
const EXPIRED_AT_ONCE = 100;

/** Sets or replaces the secret that verifies a carrier's reports. */
export async function storeWebhookSecret(
  knex: Knex,
  keyRing: KeyRing,
  given: {
    readonly tenantid: number;
    readonly kind: string;
    readonly secret: string;
    readonly setBy: number;
  },
): Promise<void> {
  const { tenantid, kind, secret, setBy } = given;
  const values = {
    secret_encrypted: keyRing.encrypt(secret, webhookSecretContext(tenantid, kind)),
    set_by: setBy,
  };
  await knex('rowpost.carrier_webhook')
    .insert({ ...values, tenantid, kind })
    .onConflict(['tenantid', 'kind'])
    .merge({ ...values, set_time: knex.fn.now() });
}

/** Without a secret every report is refused. */
export async function deleteWebhookSecret(knex: Knex, tenantid: number, kind: string): Promise<void> {
  await knex('rowpost.carrier_webhook').where({ tenantid, kind }).delete();
}

/** @returns undefined when the tenant has set none, or does not exist */
export async function readWebhookSecret(
  knex: Knex,
  keyRing: KeyRing,
  tenantid: number,
  kind: string,
): Promise<string | undefined> {
  const row = await knex('rowpost.carrier_webhook')
    .where({ tenantid, kind })
    .first<{ secret_encrypted: string } | undefined>('secret_encrypted');
  return row && keyRing.decrypt(row.secret_encrypted, webhookSecretContext(tenantid, kind));
}

export interface WebhookTime {
  readonly kind: string;
  /** ISO 8601 */
  readonly set_time: string;
}

/** The ones that the tenant has set. */
export async function listWebhooks(knex: Knex, tenantid: number): Promise<readonly WebhookTime[]> {
  return knex('rowpost.carrier_webhook')
    .where({ tenantid })
    .select<WebhookTime[]>('kind', knex.raw("to_json(set_time) #>> '{}' as set_time"));
}

/**
 * Binds a signature to one report. The same report may come again, since the carrier may not have received our response.
 * @returns false if the signature belongs to another report
 */
export async function useToken(
  knex: Knex,
  { tenantid, token, report }: { readonly tenantid: number; readonly token: string; readonly report: string },
): Promise<boolean> {
  const { rows } = await knex.raw<{ rows: { report: string }[] }>(
    statement`with expired as (
       delete from rowpost.webhook_token where (tenantid, token) in (
         select tenantid, token from rowpost.webhook_token where createtime < now() - ${TOKENS_KEPT}
         order by createtime limit ${wholeNumber(EXPIRED_AT_ONCE)} for update skip locked)
     )
     insert into rowpost.webhook_token as t (tenantid, token, report) values (?, ?, ?)
     on conflict (tenantid, token) do update set report = t.report returning report`,
    [tenantid, token, report],
  );
  return rows[0]?.report === report;
}

/** Encryption context: a ciphertext decrypts for its own tenant and carrier only. */
export const webhookSecretContext = (tenantid: number, kind: string): string =>
  `email_webhook:${tenantid}:${kind}`;
