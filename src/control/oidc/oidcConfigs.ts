import { randomUUID } from 'node:crypto';
import type { ControlDb } from '../../db/database.js';
import type { KeyRing } from '../../secrets.js';
import { readRow } from '../object/storedRows.js';

/** A tenant's registration with a provider, without its secret. */
export interface OidcConfigRow {
  readonly confid: number;
  readonly tenantid: number;
  readonly providerid: number;
  readonly client_id: string;
  readonly client_secret_uuid: string;
  readonly creatorid: number | null;
  readonly createtime: string;
}

export interface NewOidcConfig {
  readonly tenantid: number;
  readonly creatorid: number;
  readonly providerid: number;
  readonly client_id: string;
  readonly client_secret: string;
}

export interface OidcConfigChanges {
  readonly providerid?: number;
  readonly client_id?: string;
  readonly client_secret?: string;
}

const COLUMNS = 'confid, tenantid, providerid, client_id, client_secret_uuid, creatorid, createtime';

/** @returns confid. */
export async function insertOidcConfig(
  knex: ControlDb,
  keyRing: KeyRing,
  config: NewOidcConfig,
): Promise<number> {
  const { client_secret, ...values } = config;
  // The number is part of what is authenticated with the secret, so it is drawn first.
  const { rows } = await knex.raw<{ rows: { confid: number }[] }>(
    "select nextval(pg_get_serial_sequence('rowpost.oidc_config', 'confid'))::int as confid",
  );
  const confid = rows[0]?.confid;
  if (confid === undefined) throw new Error('no number for the configuration');
  await knex('rowpost.oidc_config').insert({
    ...values,
    confid,
    ...secretColumns(keyRing, confid, client_secret),
  });
  return confid;
}

export async function updateOidcConfig(
  knex: ControlDb,
  keyRing: KeyRing,
  confid: number,
  changes: OidcConfigChanges,
): Promise<void> {
  const { client_secret, ...values } = changes;
  const columns = {
    ...values,
    ...(client_secret === undefined ? {} : secretColumns(keyRing, confid, client_secret)),
  };
  if (Object.keys(columns).length === 0) return;
  await knex('rowpost.oidc_config').where({ confid }).update(columns);
}

/** The mappings made through it go with it. */
export async function deleteOidcConfig(knex: ControlDb, confid: number): Promise<void> {
  await knex('rowpost.oidc_config').where({ confid }).delete();
}

/** @returns undefined when the tenant has no such configuration. */
export function readOidcConfig(
  knex: ControlDb,
  tenantid: number,
  confid: number,
): Promise<OidcConfigRow | undefined> {
  return readRow<OidcConfigRow>(knex, 'oidc_config', COLUMNS, { tenantid, confid });
}

/** A provider as the sign-in page offers it. */
export interface SignInOption {
  readonly confid: number;
  readonly name: string;
}

/** The providers that the tenant is registered with. */
export async function listSignInOptions(knex: ControlDb, tenantid: number): Promise<readonly SignInOption[]> {
  return await knex('rowpost.oidc_config as c')
    .join('rowpost.oidc_providers as p', 'p.providerid', 'c.providerid')
    .where({ 'c.tenantid': tenantid })
    .orderBy(['p.name', 'c.confid'])
    .select<SignInOption[]>('c.confid', 'p.name');
}

/** The encryption's context: a secret copied to another row does not decrypt there. */
export function secretContext(confid: number): string {
  return `oidc_config:${confid}`;
}

function secretColumns(keyRing: KeyRing, confid: number, secret: string): Readonly<Record<string, string>> {
  return {
    client_secret_encrypted: keyRing.encrypt(secret, secretContext(confid)),
    client_secret_uuid: randomUUID(),
  };
}
