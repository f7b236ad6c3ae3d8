import { Router, type Request, type RequestHandler, type Response } from 'express';
import { listSignInOptions } from '../../control/oidc/oidcRegistration.js';
import { findLogin } from '../../control/roles/roles.js';
import { readSignInBrand } from '../../control/tenants/signInBrand.js';
import { AppError } from '../../errors.js';
import { MAX_LOGIN_LENGTH } from '../../passwordRules.js';
import { readCredentials, readTenantid, readText } from '../auth/credentials.js';
import { readSignIn } from '../auth/readSignIn.js';
import { refuseForeignSignIn } from '../auth/refuseForeignSignIn.js';
import { signIn } from '../auth/signIn.js';
import type { Fields } from '../http/readFields.js';
import { readId } from '../http/readId.js';
import { typedText } from '../http/typedText.js';
import type { OidcRoutesDeps } from '../oidc/oidcRoutes.js';
import { readReturnTo, withTokens } from '../oidc/returnTo.js';
import { startSignIn } from '../oidc/startSignIn.js';
import { signInPage } from './signInPage.js';

type Values = Fields['values'];

/** No role has this id: an unknown login gets the same response as an unmapped one. */
export const NO_ROLE = 0;

/**
 * `GET /signin?tenantid=…&return_to=…`: the sign-in page. It posts to itself for a password, or to `/signin/oidc` for a
 * provider. Both end like `/auth` and `/oidc`: with the auth body, or with the tokens at `return_to`.
 */
export function signInRoutes(deps: OidcRoutesDeps): Router {
  const policy = signInPolicy(deps.config.baseUrl);

  const showPage = async (res: Response, status: number, values: Values, problem?: string): Promise<void> => {
    const tenantid = readId(values['tenantid']);
    const options = tenantid === undefined ? [] : await listSignInOptions(deps.knex, tenantid);
    const page = signInPage({
      tenantid,
      brand: tenantid === undefined ? undefined : await readSignInBrand(deps.knex, tenantid),
      login: typedText(values, 'login'),
      returnTo: typedText(values, 'return_to'),
      options,
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
        await showPage(res, error.status, values, problemOf(error));
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
    const role = await findLogin(
      deps.knex,
      readTenantid(values),
      readText(values, 'login', MAX_LOGIN_LENGTH),
    );
    const started = await startSignIn(deps, { ...values, roleid: role?.roleid ?? NO_ROLE });
    res.cookie(started.cookie.name, started.cookie.value, started.cookie.options);
    res.redirect(303, started.authorizationUrl);
  });

  return Router()
    .get('/signin', (req, res) => showPage(res, 200, req.query))
    .post('/signin', deps.limits.byAddress, byPassword)
    .post('/signin/oidc', deps.limits.byAddress, byProvider);
}

/** Browsers check redirects after a form against `form-action`, and providers may redirect among their own hosts. */
export function signInPolicy(baseUrl: string): string {
  const schemes = baseUrl.startsWith('https:') ? 'https:' : 'https: http:';
  return `default-src 'none'; style-src 'self'; img-src data:; form-action 'self' ${schemes}; base-uri 'none'; frame-ancestors 'none'`;
}

export function problemOf(error: AppError): string {
  if (error.code === 'OIDC_ROLE_NOT_MAPPED') return "This login can't sign in with that provider.";
  if (error.code === 'LOGIN_FAILED') return 'The login or the password is wrong.';
  return error.message;
}
