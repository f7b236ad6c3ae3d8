import { AppError } from '../../foundation/errors.js';
import { completeClaims, isLeftOut, isMissing, textsOf, verifiedEmail, type Claims } from './claims.js';
import type { Identity, Provisioning } from './identity.js';

/** The paths of the claims that a sign-in reads; more if it makes a role. */
export function claimsRead(provisioning: Provisioning, isNew: boolean): readonly string[] {
  const { groups_claim, required_claim, email_domains, link_by_email, name, login } = provisioning;
  const readsEmail = email_domains.length > 0 || (isNew && link_by_email);
  const templates = isNew ? `${name ?? ''} ${login ?? ''}` : '';
  const named = [...templates.matchAll(/\bclaims(?:\.|\[\s*["'])([\w-]+)/g)].map(([, claim = '']) => claim);
  return [groups_claim, required_claim, ...(readsEmail ? ['email', 'email_verified'] : []), ...named].filter(
    (path) => path !== null,
  );
}

/** With those that the ID token has not, if one of them is needed. Throws AppError OIDC_PROVIDER_ERROR. */
export async function withClaims(identity: Identity, needed: readonly string[]): Promise<Identity> {
  const { claims, readMore } = identity;
  if (!needed.some((path) => isMissing(claims, path))) return identity;
  const more = await readMore();
  return more ? { ...identity, claims: completeClaims(claims, more) } : identity;
}

/** At every sign-in: who has left is out. Throws AppError OIDC_NOT_ADMITTED. */
export function requireAdmitted(
  { email_domains: domains, required_claim: claim, required_value: value }: Provisioning,
  { claims, emailAlwaysVerified }: Identity,
): void {
  if (domains.length > 0) {
    const domain = verifiedEmail(claims, emailAlwaysVerified)?.split('@').at(-1)?.toLowerCase();
    if (domain === undefined || !domains.includes(domain))
      throw notAdmitted('Only people with a verified address of certain domains are let in.');
  }
  if (claim !== null) requireWhole(claims, claim);
  if (claim !== null && !textsOf(claims, claim).includes(value ?? ''))
    throw notAdmitted(`The claim "${claim}" does not let this person in.`);
}

export function groupsOf({ groups_claim: path }: Provisioning, claims: Claims): readonly string[] {
  if (path === null) return [];
  requireWhole(claims, path);
  return textsOf(claims, path);
}

/** Throws AppError OIDC_NOT_ADMITTED: with a part of the groups, a role would have too few rights or too many. */
function requireWhole(claims: Claims, path: string): void {
  if (!isLeftOut(claims, path)) return;
  throw notAdmitted(
    `The person has more groups than the provider puts into the claim "${path}".`,
    'At the provider, have the claim hold only the groups that are assigned to the application, or application roles instead.',
  );
}

/** As `oidcFailure`: the message includes what to do, since the response has no field for a hint. */
export const notAdmitted = (what: string, hint = 'Ask an administrator of the tenant.'): AppError =>
  new AppError('OIDC_NOT_ADMITTED', `${what} ${hint}`, { hint });

export const notMapped = (what: string, hint = 'Ask an administrator of the tenant.'): AppError =>
  new AppError('OIDC_ROLE_NOT_MAPPED', `${what} ${hint}`, { hint });
