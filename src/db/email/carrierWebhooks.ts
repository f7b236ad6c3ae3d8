import type { StatementRunner } from '../sql/statementRunner.js';
import type { KeyRing } from '../../config/secrets.js';
import { sql, statement, wholeNumber } from '../sql/sql.js';
import { COUNT_BYTES, TODAY } from './emailEvents.js';

/** Longer than the age at which a signed report is rejected. */
const TOKENS_KEPT = sql`interval '2 days'`;
/** Expired tokens that each new one deletes: a tenant can make millions, which would take one statement too long. */
const EXPIRED_AT_ONCE = 100;
/** What one takes, with its two indexes. It counts as what is reported does: whoever has a tenant can sign millions. */
const TOKEN_BYTES = 300;

/** Sets or replaces the secret that verifies a carrier's reports. */
export async function storeWebhookSecret(
  db: StatementRunner,
  keyRing: KeyRing,
  given: {
    readonly tenantid: number;
    readonly kind: string;
    readonly secret: string;
    readonly setBy: number;
  },
): Promise<void> {
  const { tenantid, kind, secret, setBy } = given;
  await db.query(
    `insert into rowpost.carrier_webhook (tenantid, kind, secret_encrypted, set_by) values ($1, $2, $3, $4)
     on conflict (tenantid, kind) do update
     set secret_encrypted = excluded.secret_encrypted, set_by = excluded.set_by, set_time = now()`,
    [tenantid, kind, keyRing.encrypt(secret, webhookSecretContext(tenantid, kind)), setBy],
  );
}

/** Without a secret every report is refused. */
export async function deleteWebhookSecret(
  db: StatementRunner,
  tenantid: number,
  kind: string,
): Promise<void> {
  await db.query('delete from rowpost.carrier_webhook where tenantid = $1 and kind = $2', [tenantid, kind]);
}

/** @returns undefined when the tenant has set none, or does not exist */
export async function readWebhookSecret(
  db: StatementRunner,
  keyRing: KeyRing,
  tenantid: number,
  kind: string,
): Promise<string | undefined> {
  const { rows } = await db.query<{ secret_encrypted: string }>(
    'select secret_encrypted from rowpost.carrier_webhook where tenantid = $1 and kind = $2',
    [tenantid, kind],
  );
  const [row] = rows;
  return row && keyRing.decrypt(row.secret_encrypted, webhookSecretContext(tenantid, kind));
}

export interface WebhookTime {
  readonly kind: string;
  /** ISO 8601 */
  readonly set_time: string;
}

/** The ones that the tenant has set. */
export async function listWebhooks(db: StatementRunner, tenantid: number): Promise<readonly WebhookTime[]> {
  const { rows } = await db.query<WebhookTime>(
    "select kind, to_json(set_time) #>> '{}' as set_time from rowpost.carrier_webhook where tenantid = $1",
    [tenantid],
  );
  return rows;
}

/**
 * Binds a signature to one report. The same report may come again, since the carrier may not have received our response.
 * @param quota of what is reported of the tenant in a day, in bytes
 * @returns `foreign` if the signature belongs to another report, `refused` if it is new and the quota is used up
 */
export async function useToken(
  db: StatementRunner,
  { tenantid, token, report }: { readonly tenantid: number; readonly token: string; readonly report: string },
  quota: number,
): Promise<'own' | 'foreign' | 'refused'> {
  const { rows } = await db.query<{ report: string }>(
    statement`with expired as (
       delete from rowpost.webhook_token where (tenantid, token) in (
         select tenantid, token from rowpost.webhook_token where createtime < now() - ${TOKENS_KEPT}
         order by createtime limit ${wholeNumber(EXPIRED_AT_ONCE)} for update skip locked)
     ), known as materialized (
       select report from rowpost.webhook_token where tenantid = $1 and token = $2
     ), counted as (
       insert into rowpost.email_event_quota as q (tenantid, day, bytes)
       select $1, ${TODAY}, ${wholeNumber(TOKEN_BYTES)} where not exists (select from known) ${COUNT_BYTES}
       returning day
     ), used as (
       insert into rowpost.webhook_token as t (tenantid, token, report) select $1, $2, $4 from counted
       on conflict (tenantid, token) do update set report = t.report returning report
     )
     select report from known union all select report from used`,
    [tenantid, token, quota, report],
  );
  const [used] = rows;
  if (!used) return 'refused';
  return used.report === report ? 'own' : 'foreign';
}

/** Encryption context: a ciphertext decrypts for its own tenant and carrier only. */
export const webhookSecretContext = (tenantid: number, kind: string): string =>
  `email_webhook:${tenantid}:${kind}`;
