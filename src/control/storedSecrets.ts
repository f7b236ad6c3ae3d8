import { identifier, join, statement } from '../db/sql/sql.js';
import type { StatementRunner } from '../db/sql/statementRunner.js';
import type { KeyRing } from '../config/secrets.js';
import { webhookSecretContext } from '../db/email/carrierWebhooks.js';
import { emailApiKeyContext, emailTransportsContext } from '../db/email/emailAccounts.js';
import { secretContext } from './derive/writeRows.js';
import { clientKeyContext } from './oidc/clientKeys.js';
import { signingKeyContext } from '../db/roles/signIn/signingKeys.js';

/** A column of ciphertexts, empty or null if nothing is stored. */
interface SecretColumn<Row> {
  readonly table: string;
  readonly column: string;
  /** The columns needed for `context` and `nameOf`. */
  readonly key: readonly (keyof Row & string)[];
  /** The context that the ciphertext is bound to. */
  readonly context: (row: Row) => string;
  /** For example, `email API key of tenant 7`. */
  readonly nameOf: (row: Row) => string;
}

interface KeyColumns {
  readonly kid: string;
  readonly tenantid: number;
  readonly confid: number;
  readonly kind: string;
}

/**
 * Every secret in the database, except those that end without harm if their key is missing: emails that are kept as sent, sign-ins
 * under way, and the ID tokens of sessions.
 */
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
    column: 'accounts_encrypted',
    key: ['tenantid'],
    context: ({ tenantid }) => emailTransportsContext(tenantid),
    nameOf: ({ tenantid }) => `email account of tenant ${tenantid}`,
  },
  {
    table: 'oidc_config',
    column: 'client_secret_encrypted',
    key: ['confid'],
    context: ({ confid }) => secretContext('oidc_config', confid),
    nameOf: ({ confid }) => `client secret of oidc_config ${confid}`,
  },
  {
    table: 'oidc_key',
    column: 'private_jwk_encrypted',
    key: ['kid'],
    context: ({ kid }) => clientKeyContext(kid),
    nameOf: ({ kid }) => `client key ${kid}`,
  },
  {
    table: 'carrier_webhook',
    column: 'secret_encrypted',
    key: ['tenantid', 'kind'],
    context: ({ tenantid, kind }) => webhookSecretContext(tenantid, kind),
    nameOf: ({ tenantid, kind }) => `${kind} webhook of tenant ${tenantid}`,
  },
];

/** Which stored secrets can be decrypted with the current keys. */
export interface SecretsReadable {
  readonly stored: number;
  /** Names of those that can't, for example `signing key 3f2a…`, `email API key of tenant 7`. */
  readonly unreadable: readonly string[];
}

/** Tries to decrypt every stored secret; none is retained. */
export async function checkStoredSecrets(db: StatementRunner, keyRing: KeyRing): Promise<SecretsReadable> {
  let stored = 0;
  const unreadable: string[] = [];
  for (const { table, column, key, context, nameOf } of SECRET_COLUMNS) {
    const [keys, secret] = [key.map((name) => identifier(name)), identifier(column)];
    const { rows } = await db.query<KeyColumns & { readonly ciphertext: string }>(
      statement`select ${join(keys)}, ${secret} as ciphertext from ${identifier('rowpost', table)} where ${secret} <> ''`,
    );
    stored += rows.length;
    unreadable.push(
      ...rows
        .filter((row) => decrypted(keyRing, row.ciphertext, context(row)) === undefined)
        .map((row) => nameOf(row)),
    );
  }
  return { stored, unreadable };
}

/** @returns undefined if the key is missing, or the row was altered */
export function decrypted(keyRing: KeyRing, ciphertext: string, context: string): string | undefined {
  try {
    return keyRing.decrypt(ciphertext, context);
  } catch {
    // The caller reports which one, or goes on without.
    return undefined;
  }
}
