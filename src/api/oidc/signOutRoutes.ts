import { Router, type Request, type RequestHandler } from 'express';
import { RateLimiterMemory } from 'rate-limiter-flexible';
import { readClientConfigs, type ClientConfig } from '../../control/oidc/oidcRegistration.js';
import {
  endSession,
  endSessionsOfLogout,
  recordLogout,
  type ProviderLogout,
} from '../../db/roles/signIn/sessions.js';
import { recordSignInEvents } from '../../db/roles/signIn/signInEvents.js';
import { AppError } from '../../foundation/errors.js';
import { readSignIn, readText } from '../auth/readSignIn.js';
import { isConsolePath } from '../console/consolePath.js';
import { clientAddress } from '../http/clientAddress.js';
import { consumePoint } from '../http/consumePoint.js';
import { sendJson } from '../http/failure.js';
import { recordOf } from '../http/requestRecord.js';
import type { RouteDeps } from '../http/routeDeps.js';
import { sendPage } from '../pages/sendPage.js';
import { endSessionUrl, readSignOutState, SIGNED_OUT_PATH } from './endSessionUrl.js';
import { oidcFailure } from './oidcFailure.js';
import { signedOut } from './signedOut.js';
import { readReturnTo } from './returnTo.js';
import { findNamedConfigs, verifyLogoutToken, type ReadConfigs } from './verifyLogoutToken.js';

const MAX_LOGOUT_TOKEN_CHARACTERS = 32_768;
/**
 * Of one address for one client of a configuration, or for none, in each web process. A provider has all its customers' sent from the
 * same addresses, and anybody may be one.
 */
const REFUSED_PER_MINUTE = 60;
/**
 * Of one provider for one tenant, in each web process, each as often as the tenant has configurations of its client: any tenant may
 * name any client. A provider may sign a whole company out at once.
 */
const TAKEN_PER_MINUTE = 20_000;
const MAX_LOGGED_CONFIGS = 10;

/**
 * `POST /oidc/logout` ends the session of a token, `GET /oidc/logout` is where providers send browsers back to, and
 * `POST /oidc/backchannel` takes logout tokens of providers.
 */
export function signOutRoutes(deps: RouteDeps): Router {
  const { database, config, principals, log, turns } = deps;
  const refused = new RateLimiterMemory({ points: REFUSED_PER_MINUTE, duration: 60 });
  const taken = new RateLimiterMemory({ points: TAKEN_PER_MINUTE, duration: 60 });

  const signOut: RequestHandler = async (req, res) => {
    const { principal, claims } = await deps.authenticator.authenticate(req.headers.authorization, undefined);
    recordOf(res)?.setPrincipal(principal);
    const values = 'content-type' in req.headers ? await readSignIn(deps, req, res) : {};
    const { tenantid } = principal;
    const returnTo = readReturnTo(values['return_to'], deps, tenantid);
    const { sessionid } = claims;
    const ended =
      sessionid === undefined
        ? undefined
        : await endSession(database.pool, { tenantid, sessionid }, config.accessTokenSeconds);
    principals.forget(tenantid);
    if (ended) await recordSignInEvents(database.pool, [signedOut(deps, req, ended, 'program')]);
    const atProvider = ended && (await endSessionUrl(deps, ended, returnTo));
    sendJson(res, 200, JSON.stringify({ ended: ended !== undefined, logout_url: atProvider?.url ?? null }));
  };

  const returned: RequestHandler = async (req, res) => {
    const state = readSignOutState(deps, req.query['state']);
    const { returnTo } = state ?? { returnTo: null };
    if (state && returnTo !== null) {
      // The operator may have removed the origin meanwhile.
      const address = isConsolePath(returnTo) ? returnTo : readReturnTo(returnTo, deps, state.tenantid);
      res.redirect(303, address ?? returnTo);
      return;
    }
    await sendPage(res, 'signed-out', { title: 'Signed out' });
  };

  /** @returns how many sessions it ended */
  const endThose = async (req: Request, logout: ProviderLogout): Promise<number> => {
    if (!(await recordLogout(database.pool, logout)))
      throw oidcFailure(INVALID, 'The logout token came before (jti).');
    let count = 0;
    for await (const ended of endSessionsOfLogout(database.pool, logout, config.accessTokenSeconds)) {
      count += ended.length;
      const events = ended.map((session) => signedOut(deps, req, session, 'provider'));
      await recordSignInEvents(database.pool, events);
      for (const tenantid of new Set(ended.map((each) => each.tenantid))) principals.forget(tenantid);
    }
    return count;
  };

  const backchannel: RequestHandler = async (req, res) => {
    const values = await readSignIn(deps, req, res);
    const token = readText(values, 'logout_token', MAX_LOGOUT_TOKEN_CHARACTERS);
    const address = clientAddress(req, config.trustProxy);
    const readConfigs: ReadConfigs = (clientIds) =>
      turns.run(req, () => readClientConfigs(database.pool, clientIds));
    // What a token names may differ each time: only clients that are known are counted apart.
    const named = await findNamedConfigs(readConfigs, token).catch(async (error: unknown) => {
      if (error instanceof AppError && error.code === INVALID)
        await consumePoint(refused, address, TOO_MANY_REFUSED);
      throw error;
    });
    const senders = [...new Set(named.map(({ clientId }) => `${address} ${clientId}`))];
    for (const sender of senders) {
      const spent = await refused.get(sender);
      if (spent && spent.remainingPoints <= 0) await consumePoint(refused, sender, TOO_MANY_REFUSED);
    }
    try {
      const { configs, ...logout } = await verifyLogoutToken(deps.providerKeys, named, token);
      const confids = await takenOf(configs);
      const sessions = await turns.run(req, () => endThose(req, { ...logout, confids }));
      const leftOut = configs.length - confids.length;
      log.info(
        { confids: confids.slice(0, MAX_LOGGED_CONFIGS), leftOut, sessions },
        'signed out by a provider',
      );
      sendJson(res, 200, '{}');
    } catch (error) {
      if (error instanceof AppError) for (const sender of senders) await refused.penalty(sender);
      throw error;
    }
  };

  /**
   * Those of tenants that have not had too many, so that one which has does not stop the others. Throws AppError RATE_LIMITED if
   * there is none.
   */
  const takenOf = async (configs: readonly ClientConfig[]): Promise<readonly number[]> => {
    const byTenant = new Map<string, number[]>();
    for (const { tenantid, confid, provider } of configs) {
      const key = `${tenantid} ${provider.providerid}`;
      byTenant.set(key, [...(byTenant.get(key) ?? []), confid]);
    }
    const within: number[] = [];
    let refusal: unknown;
    for (const [key, confids] of byTenant) {
      try {
        await consumePoint(taken, key, TOO_MANY_TAKEN, confids.length);
        within.push(...confids);
      } catch (error) {
        refusal = error;
      }
    }
    if (within.length === 0) throw refusal;
    return within.sort((one, other) => one - other);
  };

  return Router()
    .post(SIGNED_OUT_PATH, deps.limits.byAddress, signOut)
    .get(SIGNED_OUT_PATH, returned)
    .post('/oidc/backchannel', backchannel);
}

const INVALID = 'OIDC_LOGOUT_TOKEN_INVALID';
const TOO_MANY_REFUSED = 'Too many logout tokens that are not acceptable.';
const TOO_MANY_TAKEN = 'Too many logout tokens of one provider.';
