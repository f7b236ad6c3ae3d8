import { randomBytes } from 'node:crypto';
import type { Response } from 'express';
import { fileURLToPath } from 'node:url';
import { Liquid } from 'liquidjs';
import type { ResponseReservation } from '../../db/pool/responseBudget.js';
import type { AppError } from '../../foundation/errors.js';
import { complete, type Steps } from '../../graphql/steps.js';
import { sendResponse, type SlownessLimits } from '../http/sendResponse.js';
import { CODEMIRROR } from '../http/packagedFiles.js';
import { renderInSteps } from './renderInSteps.js';

/** Renders the program's own templates, never a tenant's, so there are no limits. */
const liquid = new Liquid({
  // Resolves from both src/api/pages and dist/api/pages: the build copies the folders.
  root: ['../console/views', './views'].map((folder) => fileURLToPath(new URL(folder, import.meta.url))),
  extname: '.liquid',
  cache: true,
  // All output is escaped for text and double-quoted attributes. No template uses `raw`, which a test ensures.
  outputEscape: 'escape',
  ownPropertyOnly: true,
  strictFilters: true,
  jsTruthy: true,
  // Times are shown in UTC.
  timezoneOffset: 0,
});

/** The HTML of a view, all values escaped. */
export function renderView(view: string, values: object): string {
  return liquid.renderFileSync(view, values) as string;
}

/** Nothing inline, only our own scripts, nothing from other origins, no framing. */
const POLICY =
  "default-src 'none'; style-src 'self'; img-src 'self' data:; frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/**
 * For a page that shows an email inside the editor's page: the email has styles and images of its own. No scripts and no
 * forms; the email is in a nested frame, which has no origin either.
 */
const FRAMED_POLICY =
  "sandbox allow-same-origin; default-src 'none'; style-src 'self' 'unsafe-inline'; img-src * data:; font-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'self'";

/** Emails may use images and their own styles, but no scripts, no other requests, and no origin. */
const EMAIL_POLICY =
  "sandbox; default-src 'none'; img-src * data:; style-src 'unsafe-inline'; font-src data:; frame-ancestors 'self'";

export interface Page {
  readonly status?: number;
  /** Why a form is shown again. The page has the error's status, and its view a `problem`. */
  readonly problem?: AppError | undefined;
  readonly policy?: string;
  /** The page's script in assets/console. */
  readonly script?: string;
  /** Whether the script uses CodeMirror editors. */
  readonly hasEditor?: boolean;
  /** Whether the page's address opens something, and must not be in the logs of proxies as the referrer of its styles. */
  readonly isSecretAddress?: boolean;
  /** Shown in a frame of our own pages. */
  readonly framed?: boolean;
  /** That of the role that the page is for. Pages for anonymous clients show nothing larger than a request. */
  readonly budget?: PageBudget;
}

/** What one tenant's pages may use of the process: they may show megabytes, which browsers may read slowly. */
export interface PageBudget {
  /** Renders. Throws AppError TOO_BUSY. */
  readonly run: <T>(steps: Steps<T>) => Promise<T>;
  /** Counts the page until it has been sent. */
  readonly open: () => ResponseReservation;
  readonly limits: SlownessLimits;
}

/** Sends the HTML of `views/<view>.liquid` with headers that prevent caching, framing and injection. */
export async function sendPage(
  res: Response,
  view: string,
  values: object,
  {
    problem,
    status = problem?.status ?? 200,
    framed = false,
    script,
    hasEditor = false,
    isSecretAddress = false,
    budget,
    policy = framed ? FRAMED_POLICY : POLICY,
  }: Page = {},
): Promise<void> {
  // Files uploaded by tenants share the origin, so scripts can't be allowed by URL.
  const nonce = framed ? undefined : randomBytes(16).toString('base64url');
  const shown = {
    ...values,
    ...(problem && {
      problem: {
        code: problem.code,
        message: problem.message,
        hint: problem.hint,
        field: problem.details['field'],
      },
    }),
    framed,
    script,
    nonce,
    packaged: hasEditor ? CODEMIRROR : [],
  };
  const steps = renderInSteps(liquid, view, shown);
  const html = budget ? await budget.run(steps) : complete(steps);
  const own = nonce && html.includes(nonce) ? `; script-src 'nonce-${nonce}'; connect-src 'self'` : '';
  res.setHeader('content-security-policy', policy + own);
  res.setHeader('x-frame-options', framed ? 'SAMEORIGIN' : 'DENY');
  res.setHeader('cache-control', 'no-store');
  // With helmet's `no-referrer` browsers would send forms with `Origin: null`.
  res.setHeader('referrer-policy', isSecretAddress ? 'strict-origin' : 'same-origin');
  sendHtml(res, status, html, budget);
}

/** Throws AppError TOO_BUSY, or DOCUMENT_TOO_COMPLEX for a page beyond MAX_RESPONSE_BYTES. */
function sendHtml(res: Response, status: number, html: string, budget: PageBudget | undefined): void {
  if (!budget) {
    res.status(status).type('html').send(html);
    return;
  }
  const { reserve, release } = budget.open();
  const refusal = reserve(html.length);
  if (refusal) {
    release();
    throw refusal;
  }
  sendResponse(res, status, { 'content-type': 'text/html; charset=utf-8' }, html, budget.limits, release);
}

/** Sends the HTML of an email, for a frame. It has its own URL, and thus its own content policy. Throws as `sendPage` does. */
export function sendEmail(res: Response, html: string, budget?: PageBudget): void {
  res.setHeader('content-security-policy', EMAIL_POLICY);
  res.setHeader('cache-control', 'no-store');
  // A sandboxed frame has no origin, and Chromium would log a warning.
  res.removeHeader('origin-agent-cluster');
  sendHtml(res, 200, html, budget);
}
