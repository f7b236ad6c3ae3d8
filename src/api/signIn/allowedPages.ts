import type { IncomingMessage } from 'node:http';
import type { RequestHandler } from 'express';
import type { Config } from '../../config/config.js';
import { AppError } from '../../foundation/errors.js';
import { isFromOrigin } from '../http/requestOrigin.js';

type Pages = Pick<Config, 'baseUrl' | 'corsOrigins' | 'oidcReturnOrigins'>;

/**
 * Prevents other sites from signing a browser in, as a role of theirs or through a provider of theirs. Programs, and pages of
 * this service and of origins in CORS_ORIGINS and OIDC_RETURN_ORIGINS, may begin a sign-in. Goes before the limits, like
 * `refuseOtherSites`. Fails with AppError PERMISSION_DENIED.
 */
export function requireAllowedPage(pages: Pages): RequestHandler {
  return (req, _res, next) => {
    if (!isFromOwnPage(req, pages)) throw otherSite();
    next();
  };
}

/** `*` among CORS_ORIGINS names none: pages of other origins get no cookies. */
export function isFromOwnPage(req: IncomingMessage, pages: Pages): boolean {
  return isFromOrigin(req, [...ownOrigins(pages), ...pages.corsOrigins]);
}

export function otherSite(): AppError {
  return new AppError('PERMISSION_DENIED', 'Another site sent this request.', {
    hint: 'Begin the sign-in at a page of this service, or of an origin in CORS_ORIGINS or OIDC_RETURN_ORIGINS.',
  });
}

/**
 * Goes before the limits of `/auth`: a page that may not read the response must not use up the attempts of the people who
 * open it, which would lock them out. Determined by what browsers alone say. Fails with AppError PERMISSION_DENIED.
 */
export function refuseOtherSites(pages: Pages): RequestHandler {
  const allowed = new Set([...ownOrigins(pages), ...pages.corsOrigins]);
  return ({ headers }, _res, next) => {
    const { origin = '', 'sec-fetch-site': site } = headers;
    const isForeign = site === 'cross-site' || site === 'same-site';
    if (isForeign && !allowed.has('*') && !allowed.has(origin)) {
      throw new AppError('PERMISSION_DENIED', 'Another site sent this request.', {
        hint: 'Add the origin of your page to CORS_ORIGINS.',
      });
    }
    next();
  };
}

function ownOrigins({ baseUrl, oidcReturnOrigins }: Pages): readonly string[] {
  return [baseUrl, ...oidcReturnOrigins.map(({ origin }) => origin)];
}

/** Of this service, and those in OIDC_RETURN_ORIGINS that are for all tenants or this one. */
export function originsFor({ baseUrl, oidcReturnOrigins }: Pages, tenantid: number): readonly string[] {
  const theirs = oidcReturnOrigins.filter(
    (each) => each.tenantid === undefined || each.tenantid === tenantid,
  );
  return [baseUrl, ...theirs.map(({ origin }) => origin)];
}

/**
 * Goes after `requireAllowedPage`, once it is known whose sign-in the page begins: a page of one tenant must not sign a browser in at
 * another. Throws AppError PERMISSION_DENIED.
 */
export function requirePageOfTenant({ headers }: IncomingMessage, pages: Pages, tenantid: number): void {
  const isListed = pages.oidcReturnOrigins.some(({ origin }) => origin === headers.origin);
  if (isListed && !originsFor(pages, tenantid).includes(headers.origin ?? '')) {
    throw new AppError('PERMISSION_DENIED', 'A page of another tenant sent this request.', {
      hint: 'The operator allows pages of a tenant with OIDC_RETURN_ORIGINS.',
    });
  }
}
