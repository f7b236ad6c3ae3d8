import type { IncomingMessage } from 'node:http';
import type { Config } from '../../config.js';
import { AppError } from '../../errors.js';
import { isFromOrigin } from '../http/requestOrigin.js';

/**
 * Prevents other sites from signing a browser in, as a role of theirs or through a provider of theirs. Programs, and pages of
 * this service and of origins in CORS_ORIGINS and OIDC_RETURN_ORIGINS, may begin a sign-in. Throws AppError PERMISSION_DENIED.
 */
export function requireAllowedPage(
  req: IncomingMessage,
  { baseUrl, corsOrigins, oidcReturnOrigins }: Pick<Config, 'baseUrl' | 'corsOrigins' | 'oidcReturnOrigins'>,
): void {
  // `*` among CORS_ORIGINS names none: pages of other origins get no cookies.
  const allowed = [baseUrl, ...oidcReturnOrigins].map((address) => new URL(address).origin);
  if (isFromOrigin(req, [...allowed, ...corsOrigins])) return;
  throw new AppError('PERMISSION_DENIED', 'Another site sent this request.', {
    hint: 'Begin the sign-in at a page of this service, or of an origin in CORS_ORIGINS or OIDC_RETURN_ORIGINS.',
  });
}
