import { Router, type RequestHandler } from 'express';
import type { Principal } from '../../db/principal.js';
import { sendJson } from '../http/failure.js';
import { readFields } from '../http/readFields.js';
import type { Authenticator } from './authenticate.js';
import { readCredentials, readTenantid } from './credentials.js';
import { requireSignInAllowed, signIn, signInAnonymously, type SignInDeps } from './signIn.js';
import type { SignInLimits } from './signInLimits.js';

export interface AuthRoutesDeps extends SignInDeps {
  readonly authenticator: Authenticator;
  readonly limits: SignInLimits;
  readonly bodyLimitBytes: number;
  /** The auth body as JSON text. */
  readonly authBody: (principal: Principal) => Promise<string>;
}

/** `POST /auth`, `GET /auth` and `POST /anonauth`. All answer the auth body. */
export function authRoutes(deps: AuthRoutesDeps): Router {
  const byPassword: RequestHandler = async (req, res) => {
    const { values } = await readFields(req, deps.bodyLimitBytes);
    const credentials = readCredentials(values);
    const principal = await deps.limits.byLogin(req, res, credentials, () => signIn(deps, credentials));
    sendJson(res, 200, await deps.authBody(principal));
  };
  const byRefreshToken: RequestHandler = async (req, res) => {
    const principal = await deps.authenticator.authenticate(req.headers.authorization, 'refresh');
    await requireSignInAllowed(deps, principal);
    sendJson(res, 200, await deps.authBody(principal));
  };
  const anonymously: RequestHandler = async (req, res) => {
    const { values } = await readFields(req, deps.bodyLimitBytes);
    const principal = await signInAnonymously(deps, readTenantid(values));
    sendJson(res, 200, await deps.authBody(principal));
  };
  return Router()
    .use(['/auth', '/anonauth'], deps.limits.byAddress)
    .post('/auth', byPassword)
    .get('/auth', byRefreshToken)
    .post('/anonauth', anonymously);
}
