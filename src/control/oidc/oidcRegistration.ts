import type { StatementRunner } from '../../db/sql/statementRunner.js';
import type { KeyRing } from '../../config/secrets.js';
import type { Row } from '../derive/declaration.js';
import { readRow, readRows } from '../derive/rows.js';
import { secretContext } from '../derive/writeRows.js';
import { oidcProvisioning } from '../objects/oidcProvisioning.js';
import { readClientKey, type ClientKey } from './clientKeys.js';
import { oidcProviders, type OidcProvider } from '../objects/oidcProviders.js';

/** A tenant's registration with a provider, as needed for a sign-in. */
export interface OidcRegistration {
  readonly clientId: string;
  /** Empty if it has none. */
  readonly clientSecret: string;
  /** Instead of the secret, if there is one. */
  readonly clientKey: ClientKey | undefined;
  readonly provider: OidcProvider;
  /** Where the provider sends browsers back to, below BASE_URL. */
  readonly redirectPath: string;
  /** Whether callbacks must name their issuer, since its redirect URI is that of other providers too. */
  readonly requiresIss: boolean;
  /** In seconds, since the person signed in at the provider; null for any. */
  readonly maxSessionAge: number | null;
  /** What the provider is asked to do at each sign-in. */
  readonly prompt: string | null;
  /** Undefined if sign-ins make no roles. */
  readonly provisioning: Row<typeof oidcProvisioning> | undefined;
  /** Of all that says who somebody is: sessions end when it changes. */
  readonly version: string;
}

const VERSION = `md5(row(c.providerid, c.client_id, p.auth_uri, p.token_uri, p.jwks_uri, p.issuer, p.comparison_field,
  p.email_always_verified)::text)`;

/** @returns undefined if the tenant has no such configuration */
export async function readOidcRegistration(
  db: StatementRunner,
  keyRing: KeyRing,
  tenantid: number,
  confid: number,
): Promise<OidcRegistration | undefined> {
  const { rows } = await db.query<RegistrationRow>(
    `select c.providerid, c.client_id as "clientId", c.client_secret_encrypted as "secretEncrypted", c.redirect_uri as "redirectPath",
       c.requires_iss as "requiresIss", c.max_session_age as "maxSessionAge", c.prompt, ${VERSION} as version
     from rowpost.oidc_config c join rowpost.oidc_providers p using (providerid) where c.tenantid = $1 and c.confid = $2`,
    [tenantid, confid],
  );
  const [row] = rows;
  if (!row) return undefined;
  const { providerid, secretEncrypted, ...read } = row;
  const provider = await readRow(db, oidcProviders, { providerid });
  if (!provider) throw new Error('a configuration names a provider that is missing');
  return {
    ...read,
    clientSecret: keyRing.decrypt(secretEncrypted, secretContext('oidc_config', confid)),
    clientKey: await readClientKey(db, keyRing, tenantid, confid),
    provider,
    requiresIss: row.requiresIss || provider.sends_iss === true,
    provisioning: await readRow(db, oidcProvisioning, { tenantid, confid }),
  };
}

/** Whether a configuration is of the version. @param isLocking whether its provider stays as it is until the transaction ends */
export async function isOfVersion(
  db: StatementRunner,
  { tenantid, confid, version }: { tenantid: number; confid: number; version: string },
  isLocking = false,
): Promise<boolean> {
  const { rows } = await db.query(isLocking ? LOCK_OF_VERSION : OF_VERSION, [tenantid, confid, version]);
  return rows.length > 0;
}

const OF_VERSION = `select from rowpost.oidc_config c join rowpost.oidc_providers p using (providerid)
  where c.tenantid = $1 and c.confid = $2 and ${VERSION} = $3`;
const LOCK_OF_VERSION = `${OF_VERSION} for share of p`;

type RegistrationRow = Omit<OidcRegistration, 'clientSecret' | 'clientKey' | 'provider' | 'provisioning'> & {
  readonly providerid: number;
  readonly secretEncrypted: string;
};

/** Where the provider signs people out; undefined if it doesn't. */
export function endSessionUri({ provider }: OidcRegistration): string | undefined {
  return (provider.end_session_uri ?? provider.discovered_end_session_uri) || undefined;
}

/** What a provider's discovery document says. */
export interface Discovered {
  readonly issuer: string;
  /** Whether it promises the parameter `iss` next to the code (RFC 9207). */
  readonly sendsIss: boolean;
  /** Where it signs people out; empty if it doesn't. */
  readonly endSessionUri: string;
}

/** Stores what a provider's discovery document says, unless the provider was changed in the meantime. */
export async function storeDiscovered(
  db: StatementRunner,
  { providerid, auth_uri, jwks_uri, issuer }: OidcProvider,
  discovered: Discovered,
): Promise<void> {
  await db.query(
    `update rowpost.oidc_providers set discovered_issuer = $5, sends_iss = $6, discovered_end_session_uri = $7
     where providerid = $1 and auth_uri = $2 and jwks_uri = $3 and issuer is not distinct from $4`,
    [
      providerid,
      auth_uri,
      jwks_uri,
      issuer,
      discovered.issuer,
      discovered.sendsIss,
      discovered.endSessionUri,
    ],
  );
}

/** A configuration of any tenant, by its client. */
export interface ClientConfig {
  readonly tenantid: number;
  readonly confid: number;
  readonly clientId: string;
  readonly provider: OidcProvider;
}

/** Configurations of any tenant with one of these clients. */
export async function readClientConfigs(
  db: StatementRunner,
  clientIds: readonly string[],
): Promise<readonly ClientConfig[]> {
  const { rows } = await db.query<Omit<ClientConfig, 'provider'> & { readonly providerid: number }>(
    `select tenantid, confid, client_id as "clientId", providerid from rowpost.oidc_config
     where client_id = any ($1) order by confid`,
    [[...clientIds]],
  );
  const providerids = [...new Set(rows.map(({ providerid }) => providerid))];
  const providers = await readRows(db, oidcProviders, { providerid: providerids });
  const byId = new Map(providers.map((provider) => [provider.providerid, provider]));
  return rows.flatMap(({ providerid, ...config }) => {
    const provider = byId.get(providerid);
    return provider ? [{ ...config, provider }] : [];
  });
}

/** Of a tenant. Anyone may open the sign-in page, which lists them. */
export const MAX_CONFIGS = 100;

/** A provider as the sign-in page offers it. */
export interface SignInOption {
  readonly confid: number;
  readonly name: string;
}

/** The providers that the tenant is registered with. */
export async function listSignInOptions(
  db: StatementRunner,
  tenantid: number,
): Promise<readonly SignInOption[]> {
  const { rows } = await db.query<SignInOption>(
    `select c.confid, p.name from rowpost.oidc_config c join rowpost.oidc_providers p using (providerid)
     where c.tenantid = $1 order by p.name, c.confid limit ${MAX_CONFIGS}`,
    [tenantid],
  );
  return rows;
}
