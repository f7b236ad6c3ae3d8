import type { Pool } from 'pg';
import { UsageError } from '../../../foundation/errors.js';
import type { KeyRing } from '../../../config/secrets.js';
import { inTransaction } from '../../pool/inTransaction.js';
import type { StatementRunner } from '../../sql/statementRunner.js';

/** A key that signs tokens. JWK members as in RFC 7517; the private key includes the public one. */
export interface StoredSigningKey {
  readonly kid: string;
  readonly publicJwk: Readonly<Record<string, unknown>>;
  readonly privateJwk: Readonly<Record<string, unknown>>;
}

/** All keys, newest first: the newest signs, all verify. */
export async function readSigningKeys(
  db: StatementRunner,
  keyRing: KeyRing,
): Promise<readonly StoredSigningKey[]> {
  const { rows } = await db.query<Omit<StoredSigningKey, 'privateJwk'> & { encrypted: string }>(
    `select kid, public_jwk as "publicJwk", private_jwk_encrypted as encrypted
     from rowpost.signing_key order by createtime desc, kid`,
  );
  return rows.map(({ encrypted, ...key }) => {
    const privateJwk = keyRing.decrypt(encrypted, signingKeyContext(key.kid));
    return { ...key, privateJwk: JSON.parse(privateJwk) as StoredSigningKey['privateJwk'] };
  });
}

/** Throws UsageError if this installation's secrets were encrypted with other SECRET_KEYS. A new installation has no secrets. */
export async function requireKeysOf(db: StatementRunner, keyRing: KeyRing): Promise<void> {
  try {
    await readSigningKeys(db, keyRing);
  } catch (error) {
    const { code, message } = error as { readonly code?: unknown; readonly message: string };
    // An error of PostgreSQL or the network.
    if (typeof code === 'string') throw error;
    throw new UsageError(`the stored signing keys can't be decrypted with SECRET_KEYS (${message})`);
  }
}

/** Stores a key, which is used for signing from now on. */
export async function insertSigningKey(
  db: StatementRunner,
  keyRing: KeyRing,
  key: StoredSigningKey,
): Promise<void> {
  await db.query(
    'insert into rowpost.signing_key (kid, public_jwk, private_jwk_encrypted) values ($1, $2, $3)',
    [
      key.kid,
      JSON.stringify(key.publicJwk),
      keyRing.encrypt(JSON.stringify(key.privateJwk), signingKeyContext(key.kid)),
    ],
  );
}

/**
 * Deletes keys that were replaced longer ago than this.
 * @returns their ids
 */
export async function deleteReplacedKeys(
  db: StatementRunner,
  idleSeconds: number,
): Promise<readonly string[]> {
  const { rows } = await db.query<{ kid: string }>(
    `delete from rowpost.signing_key where kid in (
       select kid from (
         select kid, lead(createtime) over (order by createtime, kid desc) as replaced from rowpost.signing_key
       ) k where replaced < now() - $1 * interval '1 second')
     returning kid`,
    [idleSeconds],
  );
  return rows.map(({ kid }) => kid);
}

/** Creates the first key if there is none. Safe for several processes starting at once. */
export async function ensureSigningKey(
  pool: Pool,
  keyRing: KeyRing,
  generate: () => Promise<StoredSigningKey>,
): Promise<void> {
  await inTransaction(pool, async (client) => {
    await client.query('lock table rowpost.provisioning_lock in share update exclusive mode');
    const { rows } = await client.query('select from rowpost.signing_key limit 1');
    if (rows.length === 0) await insertSigningKey(client, keyRing, await generate());
  });
}

export function signingKeyContext(kid: string): string {
  return `signing_key:${kid}`;
}
