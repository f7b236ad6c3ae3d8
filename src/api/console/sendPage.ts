import type { Response } from 'express';
import { renderView } from './views.js';

/** Nothing inline, no scripts at all, nothing of others, and in nobody's frame. */
const POLICY =
  "default-src 'none'; style-src 'self'; img-src 'self' data:; frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

export interface Page {
  readonly status?: number;
  readonly policy?: string;
}

/** Sends the HTML of a view, which nobody may keep, frame or add to. */
export async function sendPage(
  res: Response,
  view: string,
  values: object,
  { status = 200, policy = POLICY }: Page = {},
): Promise<void> {
  const html = await renderView(view, values);
  res.setHeader('content-security-policy', policy);
  res.setHeader('x-frame-options', 'DENY');
  res.setHeader('cache-control', 'no-store');
  // With helmet's `no-referrer` browsers would send forms with `Origin: null`.
  res.setHeader('referrer-policy', 'same-origin');
  res.status(status).type('html').send(html);
}
