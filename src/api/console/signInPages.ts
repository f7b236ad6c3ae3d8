import { Router, type Request, type RequestHandler, type Response } from 'express';
import { findTenantid } from '../../control/tenants/tenants.js';
import { AppError, ERROR_CODES } from '../../errors.js';
import { MAX_LOGIN_LENGTH, MAX_PASSWORD_LENGTH } from '../../passwordRules.js';
import { readText } from '../auth/credentials.js';
import { readSignIn } from '../auth/readSignIn.js';
import { signIn } from '../auth/signIn.js';
import { readCookie } from '../http/readCookie.js';
import type { Fields } from '../http/readFields.js';
import { NO_TENANT, readId } from '../http/readId.js';
import { typedText } from '../http/typedText.js';
import type { OidcRoutesDeps } from '../oidc/oidcRoutes.js';
import { readSignInView, signInPolicy, signInProblem, startLogin } from '../signIn/signInForms.js';
import { CONSOLE, readConsolePath, SIGN_IN } from './consolePath.js';
import { requireOwnPage } from './formGuards.js';
import { sendPage } from './sendPage.js';

type Values = Fields['values'];

const MAX_TENANT_LENGTH = 200;
const TENANT_COOKIE = 'rowpost_tenant';
const REMEMBER_MS = 365 * 24 * 3600 * 1000;

interface Problem {
  readonly text: string;
  readonly hint?: string | undefined;
  readonly status: number;
}

/** `/console/sign-in`: first the tenant, by name or number, then a password or one of the tenant's providers. */
export function signInPages(deps: OidcRoutesDeps): Router {
  const policy = signInPolicy(deps.config.baseUrl);
  const secure = deps.config.baseUrl.startsWith('https:');

  const show = async (res: Response, tenant: string, values: Values, problem?: Problem): Promise<void> => {
    const tenantid = tenant === '' ? undefined : await tenantidOf(tenant);
    const view = {
      ...(await readSignInView(deps, tenantid)),
      title: 'Sign in',
      tenant,
      login: typedText(values, 'login'),
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
    const tenant =
      req.query['tenant'] === undefined ? rememberedTenant(req) : typedText(req.query, 'tenant').trim();
    await show(res, tenant.slice(0, MAX_TENANT_LENGTH), req.query, failedAtProvider(req.query['failed']));
  };

  /** Handles a form. Errors that the visitor can correct are shown on the page. */
  const onForm =
    (
      answer: (req: Request, res: Response, tenant: string, values: Values) => Promise<void>,
    ): RequestHandler =>
    async (req, res) => {
      requireOwnPage(req, deps.config.baseUrl);
      const values = await readSignIn(req);
      const tenant = typedText(values, 'tenant').trim().slice(0, MAX_TENANT_LENGTH);
      try {
        await answer(req, res, tenant, values);
      } catch (error) {
        if (!(error instanceof AppError) || error.status >= 500) throw error;
        await show(res, tenant, values, explained(error));
      }
    };

  const remember = (res: Response, tenant: string): void => {
    const options = { path: CONSOLE, httpOnly: true, sameSite: 'lax', secure, maxAge: REMEMBER_MS } as const;
    res.cookie(TENANT_COOKIE, tenant, options);
  };

  const byPassword = onForm(async (req, res, tenant, values) => {
    const credentials = {
      login: readText(values, 'login', MAX_LOGIN_LENGTH),
      password: readText(values, 'password', MAX_PASSWORD_LENGTH),
      tenantid: (await tenantidOf(tenant)) ?? NO_TENANT,
    };
    const principal = await deps.limits.byLogin(req, res, credentials, () => signIn(deps, credentials));
    await deps.consoleSessions.begin(res, principal);
    remember(res, tenant);
    res.redirect(303, readConsolePath(values['next']));
  });

  const byProvider = onForm(async (_req, res, tenant, values) => {
    const tenantid = (await tenantidOf(tenant)) ?? NO_TENANT;
    const url = await startLogin(deps, res, values, { tenantid }, readConsolePath(values['next']));
    remember(res, tenant);
    res.redirect(303, url);
  });

  const tenantidOf = async (tenant: string): Promise<number | undefined> =>
    readId(tenant) ?? (await findTenantid(deps.knex, tenant));

  return Router()
    .get(SIGN_IN, page)
    .post(SIGN_IN, deps.limits.byAddress, byPassword)
    .post(`${SIGN_IN}/provider`, deps.limits.byAddress, byProvider);
}

function rememberedTenant(req: Request): string {
  // Unlike decodeURIComponent, this never throws, whatever the cookie contains.
  return new URLSearchParams(`tenant=${readCookie(req, TENANT_COOKIE) ?? ''}`).get('tenant') ?? '';
}

function explained(error: AppError): Problem {
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
