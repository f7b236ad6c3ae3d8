import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { CookieOptions } from 'express';
import { readCookie } from '../http/readCookie.js';

/** A trial signs nobody in: an administrator sees what would be of it. */
export type SignInKind = 'sign-in' | 'trial';

/** Identifies the browser that a request comes from: SHA-256 of the cookie that it got; undefined if it has none. */
export function browserHashOf(
  req: IncomingMessage,
  state: string,
  baseUrl: string,
  kind: SignInKind,
): Buffer | undefined {
  const secret = readCookie(req, cookieName(state, baseUrl, kind));
  return secret === undefined ? undefined : sha256(secret);
}

/**
 * Of the cookie that binds a sign-in to the browser that started it; one for each, so that tabs don't interfere. The prefix
 * prevents sibling subdomains from setting the cookie; browsers allow it over https only.
 */
export function cookieName(state: string, baseUrl: string, kind: SignInKind): string {
  const id = sha256(state).toString('hex').slice(0, 16);
  const name = kind === 'trial' ? 'rowpost_trial' : 'rowpost_oidc';
  return `${baseUrl.startsWith('https:') ? '__Host-' : ''}${name}_${id}`;
}

/** Lax, not Strict: the provider's redirect back is a navigation from another site. */
export function cookieOptions(baseUrl: string): CookieOptions {
  return { path: '/', httpOnly: true, sameSite: 'lax', secure: baseUrl.startsWith('https:') };
}

export function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
