import { randomBytes } from 'node:crypto';
import type { Response } from 'express';
import { CODEMIRROR } from '../packagedFiles.js';
import { renderView } from './views.js';

/** Nothing inline, no scripts but the page's own one, nothing of others, and in nobody's frame. */
const POLICY =
  "default-src 'none'; style-src 'self'; img-src 'self' data:; frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/**
 * A page that shows a mail within the page of its editor: the mail brings styles and images of its own. There are no scripts
 * and no forms; the mail is in a frame within, which has no origin either.
 */
const FRAMED_POLICY =
  "sandbox allow-same-origin; default-src 'none'; style-src 'self' 'unsafe-inline'; img-src * data:; font-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'self'";

export interface Page {
  readonly status?: number;
  readonly policy?: string;
  /** The script of its live parts, in assets/console. */
  readonly script?: string;
  /** Whether the script makes editors, with CodeMirror. */
  readonly hasEditor?: boolean;
  /** Shown in a frame of our own pages. */
  readonly framed?: boolean;
}

/** Sends the HTML of a view, which nobody may keep, frame or add to. */
export async function sendPage(
  res: Response,
  view: string,
  values: object,
  {
    status = 200,
    framed = false,
    script,
    hasEditor = false,
    policy = framed ? FRAMED_POLICY : POLICY,
  }: Page = {},
): Promise<void> {
  // Files that tenants uploaded have the same origin, so an address alone is no reason to trust a script.
  const nonce = script === undefined ? undefined : randomBytes(16).toString('base64url');
  const html = await renderView(view, {
    ...values,
    framed,
    script,
    nonce,
    packaged: hasEditor ? CODEMIRROR : [],
  });
  const own = nonce === undefined ? '' : `; script-src 'nonce-${nonce}'; connect-src 'self'`;
  res.setHeader('content-security-policy', policy + own);
  res.setHeader('x-frame-options', framed ? 'SAMEORIGIN' : 'DENY');
  res.setHeader('cache-control', 'no-store');
  // With helmet's `no-referrer` browsers would send forms with `Origin: null`.
  res.setHeader('referrer-policy', 'same-origin');
  res.status(status).type('html').send(html);
}
