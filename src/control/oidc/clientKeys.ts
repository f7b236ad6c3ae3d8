import { generateKeyPair, randomUUID } from 'node:crypto';
import { promisify } from 'node:util';
import { Mutex } from 'async-mutex';
import type { KeyRing } from '../../config/secrets.js';
import { insertInto } from '../../db/sql/sql.js';
import { runSql, type StatementRunner } from '../../db/sql/statementRunner.js';
import { AppError } from '../../foundation/errors.js';
import type { MutationInput } from '../request/mutationInputs.js';

type Jwk = Readonly<Record<string, unknown>>;

/** A key that a client authenticates with at an identity provider (RFC 7523). */
export interface ClientKey {
  readonly kid: string;
  readonly privateJwk: Jwk;
}

/** One to be replaced, and one that replaces it. */
export const MAX_KEYS = 2;

/** Of a process: each takes up to half a second of CPU, and hashes of passwords need the other threads. */
const making = new Mutex();

/** Their transaction holds a connection meanwhile. Throws AppError DOCUMENT_TOO_COMPLEX. */
export function limitNewKeys(inputs: readonly MutationInput[]): void {
  const made = inputs.filter(
    ({ mutation, input }) => mutation === 'create_oidc_key' || input['with_key'] === true,
  );
  if (made.length <= MAX_KEYS) return;
  throw new AppError(
    'DOCUMENT_TOO_COMPLEX',
    `The document makes more than ${MAX_KEYS} keys; send the others in another request.`,
  );
}

/** A provider may keep the keys that it has read for so long. */
const PUBLISHED_BEFORE_USE = '1 hour';

/** Stores a new key. All providers know RSA. @returns its id */
export async function insertClientKey(
  db: StatementRunner,
  keyRing: KeyRing,
  of: { readonly tenantid: number; readonly confid: number; readonly creatorid: number },
): Promise<string> {
  const kid = randomUUID();
  const { publicKey, privateKey } = await making.runExclusive(() =>
    promisify(generateKeyPair)('rsa', { modulusLength: 2048 }),
  );
  const privateJwk = JSON.stringify(privateKey.export({ format: 'jwk' }));
  await runSql(
    db,
    insertInto('oidc_key', {
      ...of,
      kid,
      public_jwk: JSON.stringify({ ...publicKey.export({ format: 'jwk' }), kid, use: 'sig' }),
      private_jwk_encrypted: keyRing.encrypt(privateJwk, clientKeyContext(kid)),
      jwks_uri: `/oidc/${of.confid}/jwks?tenantid=${of.tenantid}`,
    }),
  );
  return kid;
}

/** The one to authenticate with: the newest that the provider can know by now, or else the first. Undefined without keys. */
export async function readClientKey(
  db: StatementRunner,
  keyRing: KeyRing,
  tenantid: number,
  confid: number,
): Promise<ClientKey | undefined> {
  const { rows } = await db.query<{ kid: string; private_jwk_encrypted: string }>(
    `select kid, private_jwk_encrypted
     from rowpost.oidc_key, lateral (select createtime < now() - interval '${PUBLISHED_BEFORE_USE}' as known) k
     where tenantid = $1 and confid = $2
     order by known desc, case when known then createtime end desc, createtime, kid limit 1`,
    [tenantid, confid],
  );
  const [row] = rows;
  if (!row) return undefined;
  const text = keyRing.decrypt(row.private_jwk_encrypted, clientKeyContext(row.kid));
  return { kid: row.kid, privateJwk: JSON.parse(text) as Jwk };
}

/** What providers read at the configuration's JWKS address. */
export async function readPublicKeys(
  db: StatementRunner,
  tenantid: number,
  confid: number,
): Promise<readonly Jwk[]> {
  const { rows } = await db.query<{ public_jwk: Jwk }>(
    'select public_jwk from rowpost.oidc_key where tenantid = $1 and confid = $2 order by createtime, kid',
    [tenantid, confid],
  );
  return rows.map((row) => row.public_jwk);
}

export function clientKeyContext(kid: string): string {
  return `oidc_key:${kid}`;
}
