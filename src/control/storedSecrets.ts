import type { ControlDb } from '../db/connection/database.js';
import type { KeyRing } from '../secrets.js';
import { emailApiKeyContext } from '../db/delivery/emailApiKeys.js';
import { webhookSecretContext } from '../db/delivery/carrierWebhooks.js';
import { emailTransportsContext } from '../db/delivery/emailTransports.js';
import { secretContext } from './object/writeRows.js';
import { signingKeyContext } from '../db/signIn/signingKeys.js';

/** How many of the stored secrets can be read with the present keys. */
export interface SecretsReadable {
  readonly stored: number;
  /** What can't be read, as `signing key 3f2a…`, `email API key of tenant 7`. */
  readonly unreadable: readonly string[];
}

/** Decrypts every stored secret once, and keeps none. */
export async function checkStoredSecrets(db: ControlDb, keyRing: KeyRing): Promise<SecretsReadable> {
  const [signingKeys, apiKeys, clientSecrets, webhooks] = [
    await db('rowpost.signing_key').select<{ kid: string; ciphertext: string }[]>(
      'kid',
      'private_jwk_encrypted as ciphertext',
    ),
    await db('rowpost.email_apikey').select<
      { tenantid: number; ciphertext: string; transports: string | null }[]
    >('tenantid', 'apikey_encrypted as ciphertext', 'transports_encrypted as transports'),
    await db('rowpost.oidc_config').select<{ confid: number; ciphertext: string }[]>(
      'confid',
      'client_secret_encrypted as ciphertext',
    ),
    await db('rowpost.carrier_webhook').select<{ tenantid: number; kind: string; ciphertext: string }[]>(
      'tenantid',
      'kind',
      'secret_encrypted as ciphertext',
    ),
  ];
  const secrets = [
    ...signingKeys.map(({ kid, ciphertext }) => ({
      name: `signing key ${kid}`,
      context: signingKeyContext(kid),
      ciphertext,
    })),
    ...apiKeys.flatMap(({ tenantid, ciphertext, transports }) => [
      { name: `email API key of tenant ${tenantid}`, context: emailApiKeyContext(tenantid), ciphertext },
      {
        name: `email transport of tenant ${tenantid}`,
        context: emailTransportsContext(tenantid),
        ciphertext: transports ?? '',
      },
    ]),
    ...clientSecrets.map(({ confid, ciphertext }) => ({
      name: `client secret of oidc_config ${confid}`,
      context: secretContext('oidc_config', confid),
      ciphertext,
    })),
    ...webhooks.map(({ tenantid, kind, ciphertext }) => ({
      name: `${kind} webhook of tenant ${tenantid}`,
      context: webhookSecretContext(tenantid, kind),
      ciphertext,
    })),
  ];
  const stored = secrets.filter(({ ciphertext }) => ciphertext !== '');
  const unreadable = stored.filter(({ ciphertext, context }) => !decrypts(keyRing, ciphertext, context));
  return { stored: stored.length, unreadable: unreadable.map(({ name }) => name) };
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
