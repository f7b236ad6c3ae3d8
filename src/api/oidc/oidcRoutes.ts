import { Router, type Request, type RequestHandler } from 'express';
import { ownValue } from '../../foundation/ownValue.js';
import { readSignIn, readTenantid } from '../auth/readSignIn.js';
import { isFromOwnPage, otherSite, requireAllowedPage, requirePageOfTenant } from '../signIn/allowedPages.js';
import { readPublicKeys } from '../../control/oidc/clientKeys.js';
import { nothingHere, sendJson } from '../http/failure.js';
import { readId } from '../http/readId.js';
import type { RouteDeps } from '../http/routeDeps.js';
import { browserHashOf } from './browserBinding.js';
import { completeSignIn } from './completeSignIn.js';
import { requireId, startSignIn } from './startSignIn.js';

/** `POST /oidc` starts a sign-in at a provider; `GET /oidc` and `GET /oidc/<confid>` are redirect URIs, also by POST. */
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
    if (typeof state === 'string' && browserHashOf(req, state, deps.config.baseUrl, 'sign-in'))
      return deps.limits.byAddress(req, res, next);
    next();
  };

  /** Its page is one of the console. */
  const skipTrial: RequestHandler = (req, _res, next) =>
    next(isTrialCallback(req, deps.config.baseUrl) ? 'router' : undefined);

  /** `response_mode=form_post`: the cookie of the sign-in comes only with the navigation that follows. */
  const formPost: RequestHandler = async (req, res, next) => {
    if (isFromOwnPage(req, deps.config) || !req.is('application/x-www-form-urlencoded')) {
      next();
      return;
    }
    const values = await readSignIn(deps, req, res);
    const query = new URLSearchParams();
    for (const name of FORM_POST) {
      const value = ownValue(values, name);
      if (typeof value === 'string') query.set(name, value);
    }
    if (!query.has('state')) throw otherSite();
    res.setHeader('cache-control', 'no-store');
    res.redirect(303, `${req.path}?${query.toString()}`);
  };

  const jwks: RequestHandler<{ confid: string }> = async (req, res) => {
    const [tenantid, confid] = [readId(req.query['tenantid']), readId(req.params.confid)];
    const isKnown = tenantid !== undefined && confid !== undefined;
    const { pool } = deps.database;
    const keys = isKnown ? await deps.turns.run(req, () => readPublicKeys(pool, tenantid, confid)) : [];
    if (keys.length === 0) throw nothingHere();
    res.setHeader('cache-control', 'public, max-age=300');
    sendJson(res, 200, JSON.stringify({ keys }));
  };

  return (
    Router()
      .post(CALLBACKS, formPost)
      .get('/oidc/:confid/jwks', deps.limits.viewsByAddress, jwks)
      .post('/oidc', requireAllowedPage(deps.config), deps.limits.byAddress, start)
      // Express would take HEAD, as link checkers send it, for GET, and complete the sign-in.
      .head(CALLBACKS, (_req, _res, next) => next('router'))
      .get(CALLBACKS, skipTrial, counted, (req, res) => completeSignIn(deps, req, res))
  );
}

/** The parameters of a callback. */
const FORM_POST = ['state', 'code', 'iss', 'error', 'error_description'];
export const CALLBACKS = ['/oidc', '/oidc/:confid'];

export function isTrialCallback(req: Request, baseUrl: string): boolean {
  const { state } = req.query;
  return typeof state === 'string' && browserHashOf(req, state, baseUrl, 'trial') !== undefined;
}
