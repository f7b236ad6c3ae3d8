import { Router, type Response } from 'express';
import type { AppError } from '../../foundation/errors.js';
import { readCredentials, readTenantid } from '../auth/readSignIn.js';
import { signIn } from '../auth/signIn.js';
import type { Fields } from '../http/readFields.js';
import { readId } from '../http/readId.js';
import { formText } from '../http/formText.js';
import { requireAllowedPage, requirePageOfTenant } from './allowedPages.js';
import { readReturnTo, withTokens } from '../oidc/returnTo.js';
import { sendPage } from '../pages/sendPage.js';
import type { RouteDeps } from '../http/routeDeps.js';
import {
  readSignInView,
  signInForm,
  signInPolicy,
  signInProblem,
  startSignInByLogin,
} from './signInForms.js';

type Values = Fields['values'];

/**
 * `GET /signin?tenantid=…&return_to=…`: the sign-in page. It posts to itself for a password, or to `/signin/oidc` for a
 * provider. Both end like `/auth` and `/oidc`: with the auth body, or with the tokens at `return_to`.
 */
export function signInRoutes(deps: RouteDeps): Router {
  const policy = signInPolicy(deps.config.baseUrl);

  const show = async (res: Response, values: Values, error?: AppError): Promise<void> => {
    const tenantid = readId(values['tenantid']);
    const view = {
      ...(await readSignInView(deps, tenantid)),
      title: 'Sign in',
      tenantid,
      login: formText(values, 'login'),
      returnTo: formText(values, 'return_to'),
      problem: error && signInProblem(error),
    };
    await sendPage(res, 'signin', view, { status: error?.status ?? 200, policy });
  };

  const byPassword = signInForm(deps, show, async (req, res, values) => {
    const credentials = readCredentials(values);
    requirePageOfTenant(req, deps.config, credentials.tenantid);
    const returnTo = readReturnTo(values['return_to'], deps, credentials.tenantid);
    const principal = await deps.limits.byLogin(req, credentials, () => signIn(deps, credentials));
    const origin = await deps.sessions.begin(req, principal);
    if (returnTo === null) {
      await deps.respondToSignIn(res, principal, origin);
      return;
    }
    res.setHeader('cache-control', 'no-store');
    res.redirect(303, withTokens(returnTo, await deps.tokens.issuePair(principal, origin), principal));
  });

  const byProvider = signInForm(deps, show, async (req, res, values) => {
    const start = { tenantid: readTenantid(values), return_to: values['return_to'] };
    requirePageOfTenant(req, deps.config, start.tenantid);
    res.redirect(303, await startSignInByLogin(deps, res, values, start));
  });

  const guard = requireAllowedPage(deps.config);
  return Router()
    .get('/signin', deps.limits.viewsByAddress, (req, res) => deps.turns.run(req, () => show(res, req.query)))
    .post('/signin', guard, deps.limits.byAddress, byPassword)
    .post('/signin/oidc', guard, deps.limits.byAddress, byProvider);
}
