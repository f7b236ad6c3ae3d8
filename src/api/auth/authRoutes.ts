import { Router, type RequestHandler, type Response } from 'express';
import type { Principal } from '../../db/principal.js';
import { sendJson } from '../http/failure.js';
import { readFields } from '../http/readFields.js';
import { composeAuthBody, type SchemaDescription } from './authBody.js';
import type { Authenticator } from './authenticate.js';
import { readCredentials, readTenantid } from './credentials.js';
import { requireSignInAllowed, signIn, signInAnonymously, type SignInDeps } from './signIn.js';
import type { Tokens } from './tokens.js';

export interface AuthRoutesDeps extends SignInDeps {
  readonly tokens: Tokens;
  readonly authenticator: Authenticator;
  readonly baseUrl: string;
  readonly bodyLimitBytes: number;
  /** Of `/query` for this principal's tenant. */
  readonly describe: (principal: Principal) => Promise<SchemaDescription>;
  readonly describeControl: () => SchemaDescription;
}

/** `POST /auth`, `GET /auth` and `POST /anonauth`. All answer the auth body. */
export function authRoutes(deps: AuthRoutesDeps): Router {
  const byPassword: RequestHandler = async (req, res) => {
    const { values } = await readFields(req, deps.bodyLimitBytes);
    const principal = await signIn(deps, readCredentials(values));
    await answer(res, principal);
  };
  const byRefreshToken: RequestHandler = async (req, res) => {
    const principal = await deps.authenticator.authenticate(req.headers.authorization, 'refresh');
    await requireSignInAllowed(deps, principal);
    await answer(res, principal);
  };
  const anonymously: RequestHandler = async (req, res) => {
    const { values } = await readFields(req, deps.bodyLimitBytes);
    await answer(res, await signInAnonymously(deps, readTenantid(values)));
  };
  const answer = async (res: Response, principal: Principal): Promise<void> => {
    const [tokens, schema] = await Promise.all([deps.tokens.issuePair(principal), deps.describe(principal)]);
    const controlSchema = deps.describeControl();
    sendJson(res, 200, composeAuthBody({ principal, tokens, baseUrl: deps.baseUrl, schema, controlSchema }));
  };
  return Router().post('/auth', byPassword).get('/auth', byRefreshToken).post('/anonauth', anonymously);
}
