import { Router, type RequestHandler } from 'express';
import { readSignIn, readTenantid } from '../auth/readSignIn.js';
import { requireAllowedPage, requirePageOfTenant } from '../signIn/allowedPages.js';
import { sendJson } from '../http/failure.js';
import type { RouteDeps } from '../http/routeDeps.js';
import { browserHashOf } from './browserBinding.js';
import { completeSignIn } from './completeSignIn.js';
import { requireId, startSignIn } from './startSignIn.js';

/** `POST /oidc` starts a sign-in at a provider; `GET /oidc` and `GET /oidc/<confid>` are redirect URIs. */
export function oidcRoutes(deps: RouteDeps): Router {
  const start: RequestHandler = async (req, res) => {
    const values = await readSignIn(deps, req, res);
    const tenantid = readTenantid(values);
    requirePageOfTenant(req, deps.config, tenantid);
    const url = await startSignIn(deps, res, {
      tenantid,
      roleid: values['roleid'] === undefined ? undefined : requireId(values, 'roleid'),
      confid: values['confid'],
      return_to: values['return_to'],
    });
    const body = JSON.stringify({ authorization_url: url });
    // A browser's fetch, which accepts only JSON, can't follow the redirect.
    if (req.accepts(['html', 'application/json']) === 'application/json') sendJson(res, 200, body);
    else sendJson(res, 303, body, { location: url });
  };

  /** Other sites can have callbacks loaded, but not with the cookie of a sign-in. */
  const counted: RequestHandler = (req, res, next) => {
    const { state } = req.query;
    if (typeof state === 'string' && browserHashOf(req, state, deps.config.baseUrl))
      return deps.limits.byAddress(req, res, next);
    next();
  };

  return (
    Router()
      .post('/oidc', requireAllowedPage(deps.config), deps.limits.byAddress, start)
      // Express would take HEAD, as link checkers send it, for GET, and complete the sign-in.
      .head(CALLBACKS, (_req, _res, next) => next('router'))
      .get(CALLBACKS, counted, (req, res) => completeSignIn(deps, req, res))
  );
}

const CALLBACKS = ['/oidc', '/oidc/:confid'];
