import type { ControlDb } from '../../db/database.js';
import { AppError } from '../../errors.js';
import { orNameTaken } from '../object/nameTaken.js';
import { sqlState } from '../../db/sqlState.js';
import { insertRow, readRow } from '../object/storedRows.js';

export interface OidcProviderValues {
  readonly name: string;
  readonly auth_uri: string;
  readonly token_uri: string;
  readonly jwks_uri: string;
  /** null: the one that the provider's discovery document names, see `discovered_issuer`. */
  readonly issuer: string | null;
  readonly comparison_field: string;
  /** Whether an `email` counts without `email_verified`: the provider never sends that, and verifies every address. */
  readonly email_always_verified: boolean;
  /** null: every tenant may use it. */
  readonly tenantid: number | null;
}

export interface OidcProviderRow extends OidcProviderValues {
  readonly providerid: number;
  /** null: none was found so far, so any issuer on the host of `auth_uri`. */
  readonly discovered_issuer: string | null;
  readonly creatorid: number | null;
  readonly createtime: string;
}

const FOREIGN_KEY_VIOLATION = '23503';
const COLUMNS = `providerid, tenantid, name, auth_uri, token_uri, jwks_uri, issuer, comparison_field, email_always_verified,
  discovered_issuer, creatorid, createtime`;

/** Throws AppError NAME_TAKEN. @returns providerid. */
export function insertOidcProvider(
  knex: ControlDb,
  creatorid: number,
  values: OidcProviderValues,
): Promise<number> {
  return orNameTaken(
    insertRow<number>(knex, 'oidc_providers', { ...values, creatorid }, 'providerid'),
    ...nameTaken(values.name),
  );
}

/** What was discovered of the provider before counts no more. Throws AppError NAME_TAKEN. */
export async function updateOidcProvider(
  knex: ControlDb,
  providerid: number,
  values: OidcProviderValues,
): Promise<void> {
  await orNameTaken(
    knex('rowpost.oidc_providers')
      .where({ providerid })
      .update({ ...values, discovered_issuer: null }),
    ...nameTaken(values.name),
  );
}

/** Keeps the issuer that a provider's discovery document names, unless the provider was changed meanwhile. */
export async function storeDiscoveredIssuer(
  knex: ControlDb,
  { providerid, auth_uri, jwks_uri }: OidcProviderRow,
  issuer: string,
): Promise<void> {
  await knex('rowpost.oidc_providers')
    .where({ providerid, auth_uri, jwks_uri, issuer: null })
    .update({ discovered_issuer: issuer });
}

/** Throws AppError OIDC_PROVIDER_IN_USE. */
export async function deleteOidcProvider(knex: ControlDb, providerid: number): Promise<void> {
  try {
    await knex('rowpost.oidc_providers').where({ providerid }).delete();
  } catch (error) {
    if (sqlState(error) !== FOREIGN_KEY_VIOLATION) throw error;
    throw new AppError('OIDC_PROVIDER_IN_USE', `Configurations use the provider ${providerid}.`, {
      details: { providerid },
      cause: error,
    });
  }
}

/** @returns undefined when there is no such provider. */
export function readOidcProvider(knex: ControlDb, providerid: number): Promise<OidcProviderRow | undefined> {
  return readRow<OidcProviderRow>(knex, 'oidc_providers', COLUMNS, { providerid });
}

/** Whether the number is that of a provider which the tenant may use: given for a confid, it is a likely mistake. */
export async function isProviderid(knex: ControlDb, tenantid: number, number: number): Promise<boolean> {
  const provider = await readOidcProvider(knex, number);
  return provider !== undefined && (provider.tenantid === null || provider.tenantid === tenantid);
}

/** Whether configurations of other tenants than the given one use the provider. */
export async function isUsedByOthers(
  knex: ControlDb,
  providerid: number,
  tenantid: number,
): Promise<boolean> {
  const row: unknown = await knex('rowpost.oidc_config')
    .where({ providerid })
    .whereNot({ tenantid })
    .first('confid');
  return row !== undefined;
}

function nameTaken(name: string): [string, { field: string }] {
  return [`Another provider is named "${name}".`, { field: 'name' }];
}
