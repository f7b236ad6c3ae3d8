import { Router, type RequestHandler } from 'express';
import type { RouteDeps } from '../http/routeDeps.js';
import { refuseOtherSites } from '../signIn/allowedPages.js';
import { readCredentials, readSignIn, readTenantid } from './readSignIn.js';
import { requireSignInAllowed, signIn, signInAnonymously } from './signIn.js';

/** `POST /auth`, `GET /auth` and `POST /anonauth`. All respond with the auth body. */
export function authRoutes(deps: RouteDeps): Router {
  const byPassword: RequestHandler = async (req, res) => {
    const values = await readSignIn(deps, req, res);
    const credentials = readCredentials(values);
    const principal = await deps.limits.byLogin(req, credentials, () => signIn(deps, credentials));
    await deps.respondToSignIn(res, principal, await deps.sessions.begin(req, principal));
  };
  const byRefreshToken: RequestHandler = async (req, res) => {
    const { principal, claims } = await deps.authenticator.authenticate(req.headers.authorization, 'refresh');
    await requireSignInAllowed(deps, principal);
    await deps.respondToSignIn(res, principal, await deps.sessions.renew(req, principal, claims));
  };
  const anonymously: RequestHandler = async (req, res) => {
    const values = await readSignIn(deps, req, res);
    const tenantid = readTenantid(values);
    const principal = await deps.turns.run(req, () => signInAnonymously(deps, tenantid));
    await deps.respondToSignIn(res, principal, {});
  };
  return Router()
    .use(['/auth', '/anonauth'], refuseOtherSites(deps.config), deps.limits.byAddress)
    .post('/auth', byPassword)
    .get('/auth', byRefreshToken)
    .post('/anonauth', anonymously);
}
