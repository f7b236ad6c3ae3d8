import { timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { AppError } from '../../errors.js';
import type { ConsoleSession } from './consoleSession.js';

/** Throws AppError PERMISSION_DENIED. */
export function requireCsrfToken({ csrfToken }: ConsoleSession, given: unknown): void {
  const [expected, sent] = [csrfToken, typeof given === 'string' ? given : ''].map((text) =>
    Buffer.from(text),
  );
  if (expected && sent?.length === expected.length && timingSafeEqual(expected, sent)) return;
  throw new AppError('PERMISSION_DENIED', 'This form belongs to another session.', {
    hint: 'Send it again from a page that was loaded since you signed in.',
  });
}

/**
 * Rejects forms of other sites, including those that sign in. Browsers send a form's origin in one of two headers; other
 * clients send neither. Stricter than `/signin`: other hosts of the same site are not the console.
 * Throws AppError PERMISSION_DENIED.
 */
export function requireOwnPage({ headers }: IncomingMessage, baseUrl: string): void {
  const site = headers['sec-fetch-site'];
  const { origin, host } = headers;
  const isOwnOrigin =
    origin === undefined ||
    origin === new URL(baseUrl).origin ||
    (URL.canParse(origin) && new URL(origin).host === host);
  if (isOwnOrigin && (site === undefined || site === 'same-origin' || site === 'none')) return;
  throw new AppError('PERMISSION_DENIED', 'Another site sent this form.', {
    hint: 'Open the console itself and try again there.',
  });
}
