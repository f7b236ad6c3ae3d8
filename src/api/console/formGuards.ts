import { timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { RequestHandler } from 'express';
import { AppError } from '../../foundation/errors.js';
import { isFromOrigin } from '../http/requestOrigin.js';
import type { ConsoleSession } from './consoleSession.js';

/** Whether a session of another tenant opened the form. What the form says is not verified. */
export function isOfOtherTenant({ principal }: ConsoleSession, csrf: unknown): boolean {
  const tenantid = typeof csrf === 'string' ? /^(\d+)\./.exec(csrf)?.[1] : undefined;
  return tenantid !== undefined && tenantid !== String(principal.tenantid);
}

/** Throws AppError PERMISSION_DENIED. */
export function requireCsrfToken(session: ConsoleSession, given: unknown): void {
  const { csrfToken } = session;
  const [expected, sent] = [csrfToken, typeof given === 'string' ? given : ''].map((text) =>
    Buffer.from(text),
  );
  if (expected && sent?.length === expected.length && timingSafeEqual(expected, sent)) return;
  if (isOfOtherTenant(session, given)) {
    throw new AppError('PERMISSION_DENIED', 'This form was opened for another tenant.', {
      hint: 'Sign in for that tenant in another tab, go back, and send it again.',
    });
  }
  throw new AppError('PERMISSION_DENIED', 'This form belongs to another session.', {
    hint: 'Send it again from a page that was loaded since you signed in.',
  });
}

/** Rejects forms of other origins, including those that sign in. Throws AppError PERMISSION_DENIED. */
export function requireOwnPage(req: IncomingMessage, baseUrl: string): void {
  const site = req.headers['sec-fetch-site'];
  const isSameOrigin = site === undefined || site === 'same-origin' || site === 'none';
  if (isSameOrigin && isFromOrigin(req, [baseUrl])) return;
  throw new AppError('PERMISSION_DENIED', 'Another site sent this form.', {
    hint: 'Open the console itself and try again there.',
  });
}

/** Goes before the limits, so that other sites don't use up the attempts of the people who open them. */
export function ownPagesOnly(baseUrl: string): RequestHandler {
  return (req, _res, next) => {
    requireOwnPage(req, baseUrl);
    next();
  };
}
