import type { Row } from '../../control/derive/declaration.js';
import { isUsableProvider } from '../../control/derive/references.js';
import { readRow } from '../../control/derive/rows.js';
import { roleOidc } from '../../control/objects/roleOidc.js';
import { PROVIDERID_GIVEN } from '../../control/oidc/oidcMappings.js';
import { readOidcRegistration, type OidcRegistration } from '../../control/oidc/oidcRegistration.js';
import type { Principal } from '../../db/roles/principal.js';
import type { OidcSignIn } from '../../db/roles/signIn/oidcSignIns.js';
import type { RouteDeps } from '../http/routeDeps.js';
import { oidcFailure } from './oidcFailure.js';

/** The configuration of the provider that says who signs in. */
type SignInConfig = Pick<OidcSignIn, 'tenantid' | 'confid'>;

/** Throws AppError OIDC_CONFID_NOT_FOUND, with a hint if the number is a provider's id. */
export async function findRegistration(
  { database: { pool }, keyRing, principals }: RouteDeps,
  { tenantid, confid }: SignInConfig,
): Promise<OidcRegistration> {
  await principals.requireTenantInThisCell(tenantid);
  const registration = await readOidcRegistration(pool, keyRing, tenantid, confid);
  if (registration) return registration;
  const what = `The tenant has no OpenID Connect configuration ${confid}.`;
  throw (await isUsableProvider(pool, tenantid, confid))
    ? oidcFailure('OIDC_CONFID_NOT_FOUND', what, PROVIDERID_GIVEN)
    : oidcFailure('OIDC_CONFID_NOT_FOUND', what);
}

/** The role and the identity that is mapped to it. Throws AppError OIDC_ROLE_NOT_MAPPED, also for missing or deleted roles. */
export async function findMapping(
  { database: { pool }, principals }: RouteDeps,
  { tenantid, roleid, confid }: SignInConfig & { readonly roleid: number },
): Promise<{ readonly mapping: Row<typeof roleOidc>; readonly role: Principal }> {
  const mapping = await readRow(pool, roleOidc, { tenantid, roleid, confid });
  const role = mapping && (await principals.reload(tenantid, roleid));
  if (!mapping || !role) {
    throw oidcFailure('OIDC_ROLE_NOT_MAPPED', `Role ${roleid} can't sign in with configuration ${confid}.`);
  }
  return { mapping, role };
}
