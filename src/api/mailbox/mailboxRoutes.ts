import { Router, type ErrorRequestHandler, type Request, type RequestHandler } from 'express';
import { listEmail, readEmail, type OpenedEmail } from '../../db/email/mailbox.js';
import { AppError } from '../../foundation/errors.js';
import { signInPath } from '../console/consolePath.js';
import { sendJson } from '../http/failure.js';
import { sendEmail, sendPage } from '../pages/sendPage.js';
import type { RouteDeps } from '../http/routeDeps.js';
import { mailboxScope, type MailboxScope } from './mailboxAccess.js';

const PAGE_SIZE = 50;

/** `/mailbox`: the emails stored instead of sent, each as its recipient would see it; JSON on request. */
export function mailboxRoutes(deps: RouteDeps): Router {
  const { pool } = deps.database;

  const list: RequestHandler = async (req, res) => {
    const scope = await mailboxScope(req, deps);
    const page = pageOf(req);
    const emails = await listEmail(pool, { ...scope, limit: PAGE_SIZE + 1, offset: page * PAGE_SIZE });
    const view = { emails: emails.slice(0, PAGE_SIZE), page, hasOlder: emails.length > PAGE_SIZE };
    if (!wantsHtml(req)) {
      sendJson(res, 200, JSON.stringify(view));
      return;
    }
    const opened = req.params['mailid'] === undefined ? undefined : await openEmail(req, scope);
    const title = opened ? `${opened.subject} · Mailbox` : 'Mailbox';
    await sendPage(res, 'mailbox', { ...view, title, opened, lines: opened && linesOf(opened) });
  };

  const one: RequestHandler = async (req, res, next) => {
    if (wantsHtml(req)) {
      await list(req, res, next);
      return;
    }
    sendJson(res, 200, JSON.stringify(await openEmail(req, await mailboxScope(req, deps))));
  };

  const body: RequestHandler = async (req, res) => {
    sendEmail(res, (await openEmail(req, await mailboxScope(req, deps))).html);
  };

  const raw: RequestHandler = async (req, res) => {
    const email = await openEmail(req, await mailboxScope(req, deps));
    res.setHeader('cache-control', 'no-store');
    res.type('text/plain').send(email.html);
  };

  async function openEmail(req: Request, { tenantid }: MailboxScope): Promise<OpenedEmail> {
    const mailid = String(req.params['mailid']);
    const email = /^\d{1,18}$/.test(mailid) ? await readEmail(pool, mailid) : undefined;
    if (email && (tenantid === undefined || email.tenantid === tenantid)) return email;
    throw new AppError('NOT_FOUND', 'There is no such email.');
  }

  return Router()
    .get('/mailbox', list)
    .get('/mailbox/:mailid', one)
    .get('/mailbox/:mailid/body', body)
    .get('/mailbox/:mailid/raw', raw)
    .use('/mailbox', refuse);
}

/** The lines above an email, of those that it has. */
function linesOf(email: OpenedEmail): readonly (readonly [label: string, items: readonly string[]])[] {
  const lines = [
    ['From', [email.sender]],
    ['To', email.recipients],
    ['Cc', email.cc],
    ['Bcc', email.bcc],
    ['Reply to', email.reply_to],
    ['Attached', email.attachments.map(({ filename, size }) => `${filename} (${size} bytes)`)],
    ['Categories', email.categories],
    ...Object.entries(email.headers).map(([name, value]) => [name, [value]] as const),
  ] as const;
  return lines.filter(([, items]) => items.length > 0);
}

/** Browsers that may not read are sent to the console's sign-in, or told why; programs get the plain failure. */
const refuse: ErrorRequestHandler = async (error: unknown, req, res, next) => {
  if (!(error instanceof AppError) || !wantsHtml(req)) next(error);
  else if (error.status === 401) res.redirect(303, signInPath(req.originalUrl));
  else if (error.status === 403) {
    await sendPage(res, 'note', { title: 'Mailbox', text: error.message }, { status: 403 });
  } else next(error);
};

/** Browsers request pages, programs JSON. */
function wantsHtml(req: Request): boolean {
  return req.accepts(['json', 'html']) === 'html';
}

function pageOf(req: Request): number {
  const page = Number(req.query['page'] ?? 0);
  return Number.isInteger(page) && page >= 0 && page < 1_000_000 ? page : 0;
}
