import { Router, type RequestHandler } from 'express';
import type { Authenticator } from './authenticate.js';
import { readCredentials, readTenantid } from './credentials.js';
import { requireSignInAllowed, signIn, signInAnonymously, type SignInDeps } from './signIn.js';
import { readSignIn } from './readSignIn.js';
import type { SignInResponder } from './signInResponder.js';
import type { SignInLimits } from './signInLimits.js';

export interface AuthRoutesDeps extends SignInDeps {
  readonly authenticator: Authenticator;
  readonly limits: SignInLimits;
  readonly answerSignIn: SignInResponder;
}

/** `POST /auth`, `GET /auth` and `POST /anonauth`. All respond with the auth body. */
export function authRoutes(deps: AuthRoutesDeps): Router {
  const byPassword: RequestHandler = async (req, res) => {
    const values = await readSignIn(req);
    const credentials = readCredentials(values);
    const principal = await deps.limits.byLogin(req, res, credentials, () => signIn(deps, credentials));
    await deps.answerSignIn(res, principal);
  };
  const byRefreshToken: RequestHandler = async (req, res) => {
    const principal = await deps.authenticator.authenticate(req.headers.authorization, 'refresh');
    await requireSignInAllowed(deps, principal);
    await deps.answerSignIn(res, principal);
  };
  const anonymously: RequestHandler = async (req, res) => {
    const values = await readSignIn(req);
    const principal = await signInAnonymously(deps, readTenantid(values));
    await deps.answerSignIn(res, principal);
  };
  return Router()
    .use(['/auth', '/anonauth'], deps.limits.byAddress)
    .post('/auth', byPassword)
    .get('/auth', byRefreshToken)
    .post('/anonauth', anonymously);
}
