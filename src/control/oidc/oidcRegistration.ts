import type { ControlDb } from '../../db/database.js';
import type { KeyRing } from '../../secrets.js';
import { secretContext } from './oidcConfigs.js';
import { readOidcProvider, type OidcProviderRow } from './oidcProviders.js';

/** All that a sign-in needs to know of a tenant's registration with a provider. */
export interface OidcRegistration {
  readonly tenantid: number;
  readonly confid: number;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly provider: OidcProviderRow;
}

/** @returns undefined when the tenant has no such configuration. */
export async function readOidcRegistration(
  knex: ControlDb,
  keyRing: KeyRing,
  tenantid: number,
  confid: number,
): Promise<OidcRegistration | undefined> {
  const row = await knex('rowpost.oidc_config')
    .where({ tenantid, confid })
    .first<{ providerid: number; client_id: string; client_secret_encrypted: string } | undefined>(
      'providerid',
      'client_id',
      'client_secret_encrypted',
    );
  if (!row) return undefined;
  const provider = await readOidcProvider(knex, row.providerid);
  if (!provider) throw new Error('a configuration names a provider that is missing');
  return {
    tenantid,
    confid,
    clientId: row.client_id,
    clientSecret: keyRing.decrypt(row.client_secret_encrypted, secretContext(confid)),
    provider,
  };
}
