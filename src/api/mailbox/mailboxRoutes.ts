import { Router, type ErrorRequestHandler, type Request, type RequestHandler, type Response } from 'express';
import { listMail, readMail, type OpenedMail } from '../../db/delivery/mailbox.js';
import { AppError } from '../../errors.js';
import { readCredentials } from '../auth/credentials.js';
import { readSignIn } from '../auth/readSignIn.js';
import { refuseForeignSignIn } from '../auth/refuseForeignSignIn.js';
import { signIn, type SignInDeps } from '../auth/signIn.js';
import type { SignInLimits } from '../auth/signInLimits.js';
import type { Tokens } from '../auth/tokens.js';
import { sendJson } from '../http/failure.js';
import type { Html } from './html.js';
import {
  MAILBOX_COOKIE,
  mailboxScope,
  scopeOf,
  type MailboxAccessDeps,
  type MailboxScope,
} from './mailboxAccess.js';
import { mailboxPage, signInPage } from './page.js';

export interface MailboxDeps extends MailboxAccessDeps, SignInDeps {
  readonly tokens: Tokens;
  readonly limits: SignInLimits;
  readonly baseUrl: string;
  readonly accessTokenSeconds: number;
}

const PAGE_SIZE = 50;

/** Mails may use images and their own styles, but no scripts, no other requests, and no origin. */
export const MAIL_POLICY =
  "sandbox; default-src 'none'; img-src * data:; style-src 'unsafe-inline'; font-src data:; frame-ancestors 'self'";

/** `/mailbox`: the mails stored instead of sent, each as its recipient would see it; JSON on request. */
export function mailboxRoutes(deps: MailboxDeps): Router {
  const { knex } = deps;

  const list: RequestHandler = async (req, res) => {
    const scope = await mailboxScope(req, deps);
    const page = pageOf(req);
    const mails = await listMail(knex, {
      ...(scope.kind === 'tenant' ? { tenantid: scope.tenantid } : {}),
      limit: PAGE_SIZE + 1,
      offset: page * PAGE_SIZE,
    });
    const view = { mails: mails.slice(0, PAGE_SIZE), page, hasOlder: mails.length > PAGE_SIZE };
    if (!wantsHtml(req)) {
      sendJson(res, 200, JSON.stringify(view));
      return;
    }
    const opened = req.params['mailid'] === undefined ? undefined : await openMail(req, scope);
    sendPage(res, 200, mailboxPage(opened ? { ...view, opened } : view));
  };

  const one: RequestHandler = async (req, res, next) => {
    if (wantsHtml(req)) {
      await list(req, res, next);
      return;
    }
    sendJson(res, 200, JSON.stringify(await openMail(req, await mailboxScope(req, deps))));
  };

  const body: RequestHandler = async (req, res) => {
    const mail = await openMail(req, await mailboxScope(req, deps));
    res.setHeader('content-security-policy', MAIL_POLICY);
    res.setHeader('cache-control', 'no-store');
    res.type('html').send(mail.html);
  };

  const raw: RequestHandler = async (req, res) => {
    const mail = await openMail(req, await mailboxScope(req, deps));
    res.setHeader('cache-control', 'no-store');
    res.type('text/plain').send(mail.html);
  };

  const enter: RequestHandler = async (req, res) => {
    refuseForeignSignIn(req);
    const values = await readSignIn(req);
    const credentials = readCredentials(values);
    const principal = await deps.limits.byLogin(req, res, credentials, () => signIn(deps, credentials));
    scopeOf(principal);
    const token = await deps.tokens.issue(principal, 'access');
    res.cookie(MAILBOX_COOKIE, token, {
      path: '/mailbox',
      httpOnly: true,
      sameSite: 'strict',
      secure: deps.baseUrl.startsWith('https:'),
      maxAge: deps.accessTokenSeconds * 1000,
    });
    res.redirect(303, '/mailbox');
  };

  async function openMail(req: Request, scope: MailboxScope): Promise<OpenedMail> {
    const mailid = String(req.params['mailid']);
    const mail = /^\d{1,18}$/.test(mailid) ? await readMail(knex, mailid) : undefined;
    if (!mail || (scope.kind === 'tenant' && mail.tenantid !== scope.tenantid)) {
      throw new AppError('NOT_FOUND', 'There is no such mail.');
    }
    return mail;
  }

  return Router()
    .get('/mailbox', list)
    .post('/mailbox/sign-in', deps.limits.byAddress, enter)
    .get('/mailbox/:mailid', one)
    .get('/mailbox/:mailid/body', body)
    .get('/mailbox/:mailid/raw', raw)
    .use('/mailbox', askToSignIn);
}

/** Browsers without permission to read get the sign-in form; programs get the plain failure. */
const askToSignIn: ErrorRequestHandler = (error: unknown, req, res, next) => {
  const isHtml = wantsHtml(req);
  if (isHtml && error instanceof AppError && (error.status === 401 || error.status === 403)) {
    sendPage(res, error.status, signInPage(error.code === 'TOKEN_MISSING' ? undefined : error.message));
  } else {
    next(error);
  }
};

/** Browsers ask for pages, programs for JSON. */
function wantsHtml(req: Request): boolean {
  return req.accepts(['json', 'html']) === 'html';
}

function sendPage(res: Response, status: number, page: Html): void {
  res.setHeader('cache-control', 'no-store');
  res.status(status).type('html').send(page.markup);
}

function pageOf(req: Request): number {
  const page = Number(req.query['page'] ?? 0);
  return Number.isInteger(page) && page >= 0 && page < 1_000_000 ? page : 0;
}
