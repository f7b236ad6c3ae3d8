import type { Knex } from 'knex';
import { UsageError } from '../../../foundation/errors.js';
import type { KeyRing } from '../../../config/secrets.js';

/** A key that signs tokens. JWK members as in RFC 7517; the private key includes the public one. */
export interface StoredSigningKey {
  readonly kid: string;
  readonly publicJwk: Readonly<Record<string, unknown>>;
  readonly privateJwk: Readonly<Record<string, unknown>>;
}

interface SigningKeyRow {
  kid: string;
  public_jwk: Record<string, unknown>;
  private_jwk_encrypted: string;
}

/** All keys, newest first: the newest signs, all verify. */
export async function readSigningKeys(knex: Knex, keyRing: KeyRing): Promise<readonly StoredSigningKey[]> {
  const rows = (await knex('rowpost.signing_key')
    .select('kid', 'public_jwk', 'private_jwk_encrypted')
    .orderBy([{ column: 'createtime', order: 'desc' }, { column: 'kid' }])) as SigningKeyRow[];
  return rows.map((row) => ({
    kid: row.kid,
    publicJwk: row.public_jwk,
    privateJwk: JSON.parse(keyRing.decrypt(row.private_jwk_encrypted, signingKeyContext(row.kid))) as Record<
      string,
      unknown
    >,
  }));
}

/** Throws UsageError if this installation's secrets were encrypted with other SECRET_KEYS. A new installation has no secrets. */
export async function requireKeysOf(knex: Knex, keyRing: KeyRing): Promise<void> {
  try {
    await readSigningKeys(knex, keyRing);
  } catch (error) {
    const { code, message } = error as { readonly code?: unknown; readonly message: string };
    // An error of PostgreSQL or the network.
    if (typeof code === 'string') throw error;
    throw new UsageError(`the stored signing keys can't be decrypted with SECRET_KEYS (${message})`);
  }
}

/** Stores a key, which is used for signing from now on. */
export async function insertSigningKey(knex: Knex, keyRing: KeyRing, key: StoredSigningKey): Promise<void> {
  await knex('rowpost.signing_key').insert({
    kid: key.kid,
    public_jwk: JSON.stringify(key.publicJwk),
    private_jwk_encrypted: keyRing.encrypt(JSON.stringify(key.privateJwk), signingKeyContext(key.kid)),
  });
}

/**
 * Deletes keys that were replaced longer ago than this.
 * @returns their ids
 */
export async function deleteReplacedKeys(knex: Knex, idleSeconds: number): Promise<readonly string[]> {
  const { rows } = await knex.raw<{ rows: { kid: string }[] }>(
    `delete from rowpost.signing_key where kid in (
       select kid from (
         select kid, lead(createtime) over (order by createtime, kid desc) as replaced from rowpost.signing_key
       ) k where replaced < now() - ? * interval '1 second')
     returning kid`,
    [idleSeconds],
  );
  return rows.map(({ kid }) => kid);
}

/** Creates the first key if there is none. Safe for several processes starting at once. */
export async function ensureSigningKey(
  knex: Knex,
  keyRing: KeyRing,
  generate: () => Promise<StoredSigningKey>,
): Promise<void> {
  await knex.transaction(async (trx) => {
    await trx.raw('lock table rowpost.provisioning_lock in share update exclusive mode');
    const existing: unknown = await trx('rowpost.signing_key').first('kid');
    if (existing === undefined) await insertSigningKey(trx, keyRing, await generate());
  });
}

export function signingKeyContext(kid: string): string {
  return `signing_key:${kid}`;
}
