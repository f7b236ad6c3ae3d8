import type { Request, RequestHandler, Response } from 'express';
import { listSignInOptions, type SignInOption } from '../../control/oidc/oidcRegistration.js';
import { findLogin } from '../../control/roles/roles.js';
import { readSignInBrand, type SignInBrand } from '../../control/tenants/signInBrand.js';
import { AppError } from '../../foundation/errors.js';
import { MAX_LOGIN_LENGTH } from '../../foundation/passwordRules.js';
import { readSignIn, readText } from '../auth/readSignIn.js';
import { retryAfter } from '../http/failure.js';
import type { Fields } from '../http/readFields.js';
import { formText } from '../http/formText.js';
import { startSignIn, type SignInStart } from '../oidc/startSignIn.js';
import type { RouteDeps } from '../http/routeDeps.js';

type Values = Fields['values'];

/** No role has this id: an unknown login gets the same response as an unmapped one. */
const NO_ROLE = 0;

/** Handles a form of a sign-in page. Errors that the user can correct are shown on the page. */
export function signInForm(
  deps: RouteDeps,
  show: (res: Response, values: Values, error: AppError) => Promise<void>,
  respond: (req: Request, res: Response, values: Values) => Promise<void>,
): RequestHandler {
  return async (req, res) => {
    const values = await readSignIn(deps, req, res);
    try {
      await respond(req, res, values);
    } catch (error) {
      if (!(error instanceof AppError) || error.status >= 500) throw error;
      res.set(retryAfter(error));
      await show(res, values, error);
    }
  };
}

/** What a page shows of a tenant; nothing while it is unknown. */
export async function readSignInView(
  { database: { pool } }: RouteDeps,
  tenantid: number | undefined,
): Promise<{ readonly options: readonly SignInOption[]; readonly brand: SignInBrand | undefined }> {
  if (tenantid === undefined) return { options: [], brand: undefined };
  return { options: await listSignInOptions(pool, tenantid), brand: await readSignInBrand(pool, tenantid) };
}

/** As `startSignIn`, for a form with a login; without one, the role is that of the identity. */
export async function startSignInByLogin(
  deps: RouteDeps,
  res: Response,
  values: Values,
  start: Pick<SignInStart, 'tenantid' | 'return_to'>,
  consolePath?: string,
): Promise<string> {
  const { confid } = values;
  if (formText(values, 'login') === '')
    return startSignIn(deps, res, { ...start, roleid: undefined, confid }, consolePath);
  const role = await findLogin(
    deps.database.pool,
    start.tenantid,
    readText(values, 'login', MAX_LOGIN_LENGTH),
  );
  const roleid = role?.roleid ?? NO_ROLE;
  return startSignIn(deps, res, { ...start, roleid, confid }, consolePath);
}

/** Browsers check redirects after a form against `form-action`, and providers may redirect among their own hosts. */
export function signInPolicy(baseUrl: string): string {
  const schemes = baseUrl.startsWith('https:') ? 'https:' : 'https: http:';
  return `default-src 'none'; style-src 'self'; img-src data:; form-action 'self' ${schemes}; base-uri 'none'; frame-ancestors 'none'`;
}

/** What a page says of an error that the user can correct. */
export function signInProblem(error: AppError): string {
  if (error.code === 'OIDC_ROLE_NOT_MAPPED') return "This login can't sign in with that provider.";
  if (error.code === 'LOGIN_FAILED') return 'The login or the password is wrong.';
  return error.message;
}
