import { Router, type Request, type RequestHandler, type Response } from 'express';
import { ERROR_CODES, type AppError } from '../../foundation/errors.js';
import { MAX_LOGIN_LENGTH, MAX_PASSWORD_LENGTH } from '../../foundation/passwordRules.js';
import { ownValue } from '../../foundation/ownValue.js';
import { readText } from '../auth/readSignIn.js';
import { signIn } from '../auth/signIn.js';
import { readCookie } from '../http/readCookie.js';
import { NO_TENANT } from '../http/readId.js';
import { formText } from '../http/formText.js';
import type { RouteDeps } from '../http/routeDeps.js';
import {
  readSignInView,
  signInForm,
  signInPolicy,
  signInProblem,
  startSignInByLogin,
} from '../signIn/signInForms.js';
import { CONSOLE, readConsolePath, SIGN_IN } from './consolePath.js';
import { ownPagesOnly } from './formGuards.js';
import { sendPage } from '../pages/sendPage.js';
import type { Values } from './formValues.js';
import { findTenant, tenantIn } from './signInTenant.js';

const TENANT_COOKIE = 'rowpost_tenant';
const REMEMBER_MS = 365 * 24 * 3600 * 1000;

const NOTICES: Readonly<Record<string, string>> = {
  password: 'Your password is changed. Sign in with the new one.',
};

interface Problem {
  readonly text: string;
  readonly hint?: string | undefined;
  readonly status: number;
}

/** `/console/sign-in`: first the tenant, by name or number, then a password or one of the tenant's providers. */
export function signInPages(deps: RouteDeps): Router {
  const policy = signInPolicy(deps.config.baseUrl);
  const secure = deps.config.baseUrl.startsWith('https:');

  const show = async (
    res: Response,
    tenant: string,
    values: Values,
    { problem, notice }: { readonly problem?: Problem | undefined; readonly notice?: string | undefined },
  ): Promise<void> => {
    const tenantid = tenant === '' ? undefined : await findTenant(deps, tenant);
    const view = {
      ...(await readSignInView(deps, tenantid)),
      maySendPasswords: tenantid !== undefined && (await deps.passwordEmails.areSent(tenantid)),
      title: 'Sign in',
      notice,
      tenant,
      login: formText(values, 'login'),
      next: readConsolePath(values['next']),
      problem,
    };
    await sendPage(res, 'sign-in', view, { status: problem?.status ?? 200, policy });
  };

  const page: RequestHandler = async (req, res) => {
    if ((await deps.consoleSessions.read(req)) && req.query['failed'] === undefined) {
      res.redirect(303, readConsolePath(req.query['next']));
      return;
    }
    const tenant = req.query['tenant'] === undefined ? rememberedTenant(req) : tenantIn(req.query);
    const shown = {
      problem: failedAtProvider(req.query['failed']),
      notice: ownValue(NOTICES, formText(req.query, 'done')),
    };
    await deps.turns.run(req, () => show(res, tenant, req.query, shown));
  };

  const guard = ownPagesOnly(deps.config.baseUrl);
  const showAgain = (res: Response, values: Values, error: AppError): Promise<void> =>
    show(res, tenantIn(values), values, { problem: toProblem(error) });

  const remember = (res: Response, tenant: string): void => {
    const options = { path: CONSOLE, httpOnly: true, sameSite: 'lax', secure, maxAge: REMEMBER_MS } as const;
    res.cookie(TENANT_COOKIE, tenant, options);
  };

  const byPassword = signInForm(deps, showAgain, async (req, res, values) => {
    const tenant = tenantIn(values);
    const credentials = {
      login: readText(values, 'login', MAX_LOGIN_LENGTH),
      password: readText(values, 'password', MAX_PASSWORD_LENGTH),
      tenantid: (await findTenant(deps, tenant)) ?? NO_TENANT,
    };
    const principal = await deps.limits.byLogin(req, credentials, () => signIn(deps, credentials));
    await deps.consoleSessions.begin(req, res, principal);
    remember(res, tenant);
    res.redirect(303, readConsolePath(values['next']));
  });

  const byProvider = signInForm(deps, showAgain, async (_req, res, values) => {
    const tenant = tenantIn(values);
    const tenantid = (await findTenant(deps, tenant)) ?? NO_TENANT;
    const url = await startSignInByLogin(deps, res, values, { tenantid }, readConsolePath(values['next']));
    remember(res, tenant);
    res.redirect(303, url);
  });

  return Router()
    .get(SIGN_IN, deps.limits.viewsByAddress, page)
    .post(SIGN_IN, guard, deps.limits.byAddress, byPassword)
    .post(`${SIGN_IN}/provider`, guard, deps.limits.byAddress, byProvider);
}

function rememberedTenant(req: Request): string {
  // Unlike decodeURIComponent, this never throws, whatever the cookie contains.
  const given = new URLSearchParams(`tenant=${readCookie(req, TENANT_COOKIE) ?? ''}`);
  return tenantIn(Object.fromEntries(given));
}

function toProblem(error: AppError): Problem {
  const { status, hint, code } = error;
  // The tenant was typed as well, and is not said to exist.
  if (code === 'LOGIN_FAILED') return { text: 'The tenant, login or password is wrong.', status };
  const text = signInProblem(error);
  return { text, status, ...(text === error.message && code !== 'BAD_REQUEST' ? { hint } : {}) };
}

/** @param code from the URL, so untrusted: only known codes are shown, in our own words. */
function failedAtProvider(code: unknown): Problem | undefined {
  if (typeof code !== 'string') return undefined;
  const isKnown = code.startsWith('OIDC_') && Object.hasOwn(ERROR_CODES, code);
  const hint = isKnown ? ERROR_CODES[code as keyof typeof ERROR_CODES][1] : undefined;
  return { text: 'The sign-in with the provider did not succeed.', hint, status: 403 };
}
