import { Router, type RequestHandler } from 'express';
import { completeClaims, type Claims } from '../../control/oidc/claims.js';
import type { TriedSignIn } from '../../control/oidc/oidcSetUp.js';
import { requireTenantAdmin } from '../../control/permissions.js';
import { AppError } from '../../foundation/errors.js';
import type { RouteDeps } from '../http/routeDeps.js';
import { cookieName, cookieOptions } from '../oidc/browserBinding.js';
import { CALLBACKS, isTrialCallback } from '../oidc/oidcRoutes.js';
import { identify, readMoreClaims, takeSignIn, type ReturnedSignIn } from '../oidc/returnedSignIn.js';
import { readOf, tryIdentity } from '../oidc/setUp.js';
import { startSignIn } from '../oidc/startSignIn.js';
import { sendPage } from '../pages/sendPage.js';
import { numberOf, shortened } from './formValues.js';
import type { PageHandlers } from './pageHandlers.js';
import { PROVIDERS, showProviderPage, describeTrial } from './providerPage.js';

/** What a page shows of an ID token, which may have a megabyte. */
const MAX_CLAIMS = 100;
const MAX_NAME_CHARACTERS = 200;
const MAX_VALUE_CHARACTERS = 500;
/** By which it is verified. */
const CHECKED: ReadonlySet<string> = new Set([
  'iss',
  'aud',
  'azp',
  'exp',
  'iat',
  'nbf',
  'nonce',
  'auth_time',
]);

/**
 * A sign-in of an administrator that signs nobody in: the page shows the claims, and what would be made of them. It is bound to the
 * session that began it, and nothing of it is stored.
 */
export function trialSignIn(deps: RouteDeps, { page, form }: PageHandlers): Router {
  const start = form(async ({ session, values }, _req, res) => {
    const { principal, sessionid } = session;
    requireTenantAdmin(principal);
    if (sessionid === undefined)
      throw new AppError('BAD_REQUEST', 'This session is of an earlier release.', {
        hint: 'Sign out of the console, and in again.',
      });
    const confid = numberOf(values, 'confid');
    const url = await startSignIn(deps, res, {
      tenantid: principal.tenantid,
      roleid: undefined,
      confid,
      trialSessionid: sessionid,
    });
    // Not redirected: browsers check where a form leads, and the provider is elsewhere.
    res.setHeader('refresh', `0; url=${url}`);
    await sendPage(res, 'trying', { title: 'To the provider', url });
  });

  const isTrial: RequestHandler = (req, _res, next) =>
    next(isTrialCallback(req, deps.config.baseUrl) ? undefined : 'router');

  const complete = page(async (visit, req, res) => {
    const { session } = visit;
    requireTenantAdmin(session.principal);
    const signIn = await takeSignIn(deps, req, session.sessionid ?? NO_SESSION);
    const { baseUrl } = deps.config;
    res.clearCookie(cookieName(signIn.state, baseUrl, 'trial'), cookieOptions(baseUrl));
    try {
      const { claims, ...trial } = await trySignIn(deps, signIn);
      deps.log.info({ tenantid: signIn.tenantid, confid: signIn.confid }, 'a sign-in was tried');
      // The others are among the claims.
      const read = trial.read.filter(({ path }) => !Object.hasOwn(claims, path));
      await showProviderPage(visit, signIn.confid, {
        trial: await describeTrial(visit, { ...trial, read }),
        ...shownClaims(claims, trial.read),
      });
    } catch (error) {
      if (!(error instanceof AppError && error.code.startsWith('OIDC_'))) throw error;
      await showProviderPage(visit, signIn.confid, { problem: error });
    }
  });

  return Router()
    .post(`${PROVIDERS}/try`, deps.limits.byAddress, start)
    .get(CALLBACKS, isTrial, deps.limits.byAddress, complete);
}

/** No session has it. */
const NO_SESSION = '00000000-0000-0000-0000-000000000000';

/** Throws AppError OIDC_*. */
async function trySignIn(
  deps: RouteDeps,
  signIn: ReturnedSignIn,
): Promise<TriedSignIn & { readonly claims: Claims }> {
  const { tenantid, confid } = signIn;
  const identified = await identify(deps, signIn);
  let claims: Claims = identified.claims;
  const tried = await tryIdentity(deps, identified.registration, {
    tenantid,
    confid,
    claims,
    readMore: async () => {
      const more = await readMoreClaims(deps, identified);
      if (more) claims = completeClaims(claims, more);
      return more;
    },
  });
  return { ...tried, read: readOf(identified.registration, claims), claims };
}

/** All claims, those that count first. */
export function shownClaims(
  claims: Claims,
  read: TriedSignIn['read'],
): { readonly own: readonly object[]; readonly left: number } {
  // Thousands may be read, of tens of thousands.
  const used = new Set(read.flatMap(({ path }) => beginningsOf(path)));
  const own = Object.entries(claims).map(([name, value]) => ({
    name: shortened(name, MAX_NAME_CHARACTERS),
    value: shortened(typeof value === 'string' ? value : JSON.stringify(value), MAX_VALUE_CHARACTERS),
    use: used.has(name) ? 'used' : CHECKED.has(name) ? 'checked' : 'not used',
  }));
  const order = ['used', 'not used', 'checked'];
  own.sort((one, other) => order.indexOf(one.use) - order.indexOf(other.use));
  return { own: own.slice(0, MAX_CLAIMS), left: Math.max(0, own.length - MAX_CLAIMS) };
}

/** What the claim may be called that a path leads into: `a.b` is in `a`, unless there is a claim `a.b`. */
function beginningsOf(path: string): readonly string[] {
  const names = path.split('.');
  return names.map((_name, index) => names.slice(0, index + 1).join('.'));
}
