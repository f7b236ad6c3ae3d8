import type { Knex } from 'knex';
import type { KeyRing } from '../../secrets.js';

/** A key that signs tokens. JWK members as RFC 7517 names them; the private one holds the public one. */
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

/** All keys, the newest first: that one signs, all verify. */
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

/** Stores a key, which signs from now on. */
export async function insertSigningKey(knex: Knex, keyRing: KeyRing, key: StoredSigningKey): Promise<void> {
  await knex('rowpost.signing_key').insert({
    kid: key.kid,
    public_jwk: JSON.stringify(key.publicJwk),
    private_jwk_encrypted: keyRing.encrypt(JSON.stringify(key.privateJwk), signingKeyContext(key.kid)),
  });
}

/** Deletes the keys that a newer one replaced so long ago. @returns their ids. */
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

/** Makes the first key when there is none; of several processes that start at once, one does. */
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
