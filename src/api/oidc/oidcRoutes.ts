import { Router, type RequestHandler } from 'express';
import { AppError } from '../../foundation/errors.js';
import { readSignIn, readTenantid } from '../auth/credentials.js';
import { failedSignInPath, isConsolePath } from '../console/consolePath.js';
import { sendJson } from '../http/failure.js';
import type { RouteDeps } from '../http/routeDeps.js';
import { browserHashOf, cookieName, cookieOptions } from './browserBinding.js';
import { handleCallback, takeSignIn, type ReturnedSignIn } from './completeSignIn.js';
import { withError, withTokens } from './returnTo.js';
import { allowedPage } from '../signIn/allowedPages.js';
import { requireId, startSignIn } from './startSignIn.js';

/** `POST /oidc` starts a sign-in at a provider; `GET /oidc` and `GET /oidc/<confid>` are redirect URIs. */
export function oidcRoutes(deps: RouteDeps): Router {
  const start: RequestHandler = async (req, res) => {
    const values = await readSignIn(deps, req, res);
    const url = await startSignIn(deps, res, {
      tenantid: readTenantid(values),
      roleid: requireId(values, 'roleid'),
      confid: values['confid'],
      return_to: values['return_to'],
    });
    const body = JSON.stringify({ authorization_url: url });
    // A browser's fetch, which asks for JSON, can't follow the redirect.
    if (req.accepts(['html', 'application/json']) === 'application/json') sendJson(res, 200, body);
    else sendJson(res, 303, body, { location: url });
  };

  const callback: RequestHandler = async (req, res) => {
    const callbackUrl = new URL(deps.config.baseUrl + req.path);
    callbackUrl.search = new URL(req.originalUrl, callbackUrl).search;
    const signIn = await takeSignIn(deps, req, callbackUrl);
    const { baseUrl } = deps.config;
    res.clearCookie(cookieName(signIn.state, baseUrl), cookieOptions(baseUrl));
    try {
      const principal = await handleCallback(deps, signIn, callbackUrl);
      deps.log.info(subjectOf(signIn), 'signed in through a provider');
      if (signIn.return_to === null) {
        await deps.answerSignIn(res, principal);
        return;
      }
      if (isConsolePath(signIn.return_to)) {
        await deps.consoleSessions.begin(res, principal);
        res.redirect(303, signIn.return_to);
        return;
      }
      const tokens = await deps.tokens.issuePair(principal);
      res.setHeader('cache-control', 'no-store');
      res.redirect(303, withTokens(signIn.return_to, tokens, principal));
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      deps.log.warn({ ...subjectOf(signIn), code: error.code }, 'a sign-in through a provider failed');
      if (signIn.return_to === null) throw error;
      const { return_to: returnTo } = signIn;
      res.redirect(
        303,
        isConsolePath(returnTo) ? failedSignInPath(returnTo, error) : withError(returnTo, error),
      );
    }
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
      .post('/oidc', allowedPage(deps.config), deps.limits.byAddress, start)
      // Express would take HEAD, as link checkers send it, for GET, and complete the sign-in.
      .head(CALLBACKS, (_req, _res, next) => next('router'))
      .get(CALLBACKS, counted, callback)
  );
}

const CALLBACKS = ['/oidc', '/oidc/:confid'];

function subjectOf({ tenantid, roleid, confid }: ReturnedSignIn): object {
  return { tenantid, roleid, confid };
}
