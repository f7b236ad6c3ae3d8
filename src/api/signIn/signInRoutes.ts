import { Router, type Request, type RequestHandler, type Response } from 'express';
import { AppError } from '../../errors.js';
import { readCredentials, readTenantid } from '../auth/credentials.js';
import { readSignIn } from '../auth/readSignIn.js';
import { refuseForeignSignIn } from '../auth/refuseForeignSignIn.js';
import { signIn } from '../auth/signIn.js';
import type { Fields } from '../http/readFields.js';
import { readId } from '../http/readId.js';
import { typedText } from '../http/typedText.js';
import type { OidcRoutesDeps } from '../oidc/oidcRoutes.js';
import { readReturnTo, withTokens } from '../oidc/returnTo.js';
import { readSignInView, signInPolicy, signInProblem, startLogin } from './signInForms.js';
import { signInPage } from './signInPage.js';

type Values = Fields['values'];

/**
 * `GET /signin?tenantid=…&return_to=…`: the sign-in page. It posts to itself for a password, or to `/signin/oidc` for a
 * provider. Both end like `/auth` and `/oidc`: with the auth body, or with the tokens at `return_to`.
 */
export function signInRoutes(deps: OidcRoutesDeps): Router {
  const policy = signInPolicy(deps.config.baseUrl);

  const showPage = async (res: Response, status: number, values: Values, problem?: string): Promise<void> => {
    const tenantid = readId(values['tenantid']);
    const page = signInPage({
      ...(await readSignInView(deps, tenantid)),
      tenantid,
      login: typedText(values, 'login'),
      returnTo: typedText(values, 'return_to'),
      ...(problem === undefined ? {} : { problem }),
    });
    res.setHeader('content-security-policy', policy);
    res.setHeader('cache-control', 'no-store');
    res.status(status).type('html').send(page.markup);
  };

  /** Handles a form. Errors that the visitor can fix are shown on the page. */
  const onForm =
    (answer: (req: Request, res: Response, values: Values) => Promise<void>): RequestHandler =>
    async (req, res) => {
      refuseForeignSignIn(req);
      const values = await readSignIn(req);
      try {
        await answer(req, res, values);
      } catch (error) {
        if (!(error instanceof AppError) || error.status >= 500) throw error;
        await showPage(res, error.status, values, signInProblem(error));
      }
    };

  const byPassword = onForm(async (req, res, values) => {
    const credentials = readCredentials(values);
    const returnTo = readReturnTo(values['return_to'], deps);
    const principal = await deps.limits.byLogin(req, res, credentials, () => signIn(deps, credentials));
    if (returnTo === null) {
      await deps.answerSignIn(res, principal);
      return;
    }
    res.setHeader('cache-control', 'no-store');
    res.redirect(303, withTokens(returnTo, await deps.tokens.issuePair(principal), principal));
  });

  const byProvider = onForm(async (_req, res, values) => {
    const start = { tenantid: readTenantid(values), return_to: values['return_to'] };
    const url = await startLogin(deps, res, values, start);
    res.redirect(303, url);
  });

  return Router()
    .get('/signin', (req, res) => showPage(res, 200, req.query))
    .post('/signin', deps.limits.byAddress, byPassword)
    .post('/signin/oidc', deps.limits.byAddress, byProvider);
}
