import { Router, type RequestHandler, type Response } from 'express';
import { AppError } from '../../errors.js';
import type { Principal } from '../../db/principal.js';
import { sendJson } from '../http/failure.js';
import { readFields } from '../http/readFields.js';
import { composeAuthBody, type SchemaDescription } from './authBody.js';
import type { Authenticator } from './authenticate.js';
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
    const principal = await signIn(deps, {
      tenantid: tenantidOf(values),
      login: textOf(values, 'login'),
      password: textOf(values, 'password'),
    });
    await answer(res, principal);
  };
  const byRefreshToken: RequestHandler = async (req, res) => {
    const principal = await deps.authenticator.authenticate(req.headers.authorization, 'refresh');
    await requireSignInAllowed(deps, principal);
    await answer(res, principal);
  };
  const anonymously: RequestHandler = async (req, res) => {
    const { values } = await readFields(req, deps.bodyLimitBytes);
    await answer(res, await signInAnonymously(deps, tenantidOf(values)));
  };
  const answer = async (res: Response, principal: Principal): Promise<void> => {
    const [tokens, schema] = await Promise.all([deps.tokens.issuePair(principal), deps.describe(principal)]);
    const controlSchema = deps.describeControl();
    sendJson(res, 200, composeAuthBody({ principal, tokens, baseUrl: deps.baseUrl, schema, controlSchema }));
  };
  return Router().post('/auth', byPassword).get('/auth', byRefreshToken).post('/anonauth', anonymously);
}

/** A number, or a string that holds one. */
function tenantidOf(values: Readonly<Record<string, unknown>>): number {
  const given = values['tenantid'];
  const number = typeof given === 'string' && /^\s*\d+\s*$/.test(given) ? Number(given) : given;
  if (typeof number === 'number' && Number.isInteger(number) && number >= 0 && number < 2 ** 31)
    return number;
  throw new AppError('BAD_REQUEST', 'tenantid must be the number of a tenant.');
}

function textOf(values: Readonly<Record<string, unknown>>, name: string): string {
  const value = values[name];
  if (typeof value === 'string' && value !== '') return value;
  throw new AppError('BAD_REQUEST', `${name} must be a string that is not empty.`);
}
