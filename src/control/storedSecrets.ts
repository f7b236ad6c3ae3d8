import type { ControlDb } from '../db/connection/database.js';
import type { KeyRing } from '../secrets.js';
import { emailApiKeyContext } from '../db/delivery/emailApiKeys.js';
import { webhookSecretContext } from '../db/delivery/carrierWebhooks.js';
import { emailTransportsContext } from '../db/delivery/emailTransports.js';
import { secretContext } from './object/writeRows.js';
import { signingKeyContext } from '../db/signIn/signingKeys.js';

/** A column of ciphertexts, which are empty or null where nothing is stored. */
interface SecretColumn<Row> {
  readonly table: string;
  readonly column: string;
  /** The columns that its context and name are made of. */
  readonly key: readonly (keyof Row & string)[];
  /** What the ciphertext is bound to. */
  readonly context: (row: Row) => string;
  /** As `email API key of tenant 7`. */
  readonly nameOf: (row: Row) => string;
}

interface KeyColumns {
  readonly kid: string;
  readonly tenantid: number;
  readonly confid: number;
  readonly kind: string;
}

/** Every secret that the database keeps; mails kept as they were sent apart. */
export const SECRET_COLUMNS: readonly SecretColumn<KeyColumns>[] = [
  {
    table: 'signing_key',
    column: 'private_jwk_encrypted',
    key: ['kid'],
    context: ({ kid }) => signingKeyContext(kid),
    nameOf: ({ kid }) => `signing key ${kid}`,
  },
  {
    table: 'email_apikey',
    column: 'apikey_encrypted',
    key: ['tenantid'],
    context: ({ tenantid }) => emailApiKeyContext(tenantid),
    nameOf: ({ tenantid }) => `email API key of tenant ${tenantid}`,
  },
  {
    table: 'email_apikey',
    column: 'transports_encrypted',
    key: ['tenantid'],
    context: ({ tenantid }) => emailTransportsContext(tenantid),
    nameOf: ({ tenantid }) => `email transport of tenant ${tenantid}`,
  },
  {
    table: 'oidc_config',
    column: 'client_secret_encrypted',
    key: ['confid'],
    context: ({ confid }) => secretContext('oidc_config', confid),
    nameOf: ({ confid }) => `client secret of oidc_config ${confid}`,
  },
  {
    table: 'carrier_webhook',
    column: 'secret_encrypted',
    key: ['tenantid', 'kind'],
    context: ({ tenantid, kind }) => webhookSecretContext(tenantid, kind),
    nameOf: ({ tenantid, kind }) => `${kind} webhook of tenant ${tenantid}`,
  },
];

/** How many of the stored secrets can be read with the present keys. */
export interface SecretsReadable {
  readonly stored: number;
  /** What can't be read, as `signing key 3f2a…`, `email API key of tenant 7`. */
  readonly unreadable: readonly string[];
}

/** Decrypts every stored secret once, and keeps none. */
export async function checkStoredSecrets(db: ControlDb, keyRing: KeyRing): Promise<SecretsReadable> {
  let stored = 0;
  const unreadable: string[] = [];
  for (const { table, column, key, context, nameOf } of SECRET_COLUMNS) {
    const rows: readonly (KeyColumns & { readonly ciphertext: string })[] = await db(`rowpost.${table}`)
      .whereNotNull(column)
      .whereNot(column, '')
      .select(...key, `${column} as ciphertext`);
    stored += rows.length;
    unreadable.push(
      ...rows.filter((row) => !decrypts(keyRing, row.ciphertext, context(row))).map((row) => nameOf(row)),
    );
  }
  return { stored, unreadable };
}

function decrypts(keyRing: KeyRing, ciphertext: string, context: string): boolean {
  try {
    keyRing.decrypt(ciphertext, context);
    return true;
  } catch {
    // The reason is one of two: the key is not there, or the row was altered.
    return false;
  }
}
