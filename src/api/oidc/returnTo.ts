import type { Principal } from '../../db/roles/principal.js';
import type { AppError } from '../../foundation/errors.js';
import type { TokenPair } from '../auth/tokens.js';
import type { RouteDeps } from '../http/routeDeps.js';
import { originsFor } from '../signIn/allowedPages.js';
import { oidcFailure } from './oidcFailure.js';

/** A URL to return a tenant's tokens to: of this service, or of an origin that the operator allows. Throws AppError OIDC_RETURN_TO_REFUSED. */
export function readReturnTo(given: unknown, { config }: RouteDeps, tenantid: number): string | null {
  if (given === undefined || given === null || given === '') return null;
  const url = typeof given === 'string' && URL.canParse(given) ? new URL(given) : undefined;
  const isAllowed = url && originsFor(config, tenantid).includes(url.origin);
  if (isAllowed && /^https?:$/.test(url.protocol) && url.username === '') {
    return url.href;
  }
  throw oidcFailure('OIDC_RETURN_TO_REFUSED', 'Tokens are not sent to this address.');
}

/** The URL with the tokens in its fragment, which browsers don't send. */
export function withTokens(returnTo: string, tokens: TokenPair, { roleid, tenantid }: Principal): string {
  return withFragment(returnTo, { ...tokens, roleid: String(roleid), tenantid: String(tenantid) });
}

/** The same for a failed sign-in. */
export function withError(returnTo: string, error: AppError): string {
  return withFragment(returnTo, { error: error.code, error_description: error.message });
}

function withFragment(address: string, values: Readonly<Record<string, string>>): string {
  const url = new URL(address);
  url.hash = new URLSearchParams(values).toString();
  return url.href;
}
