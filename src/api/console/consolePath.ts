import type { AppError } from '../../errors.js';

export const CONSOLE = '/console';
export const SIGN_IN = `${CONSOLE}/sign-in`;
/** Redirects to the role's start page. */
const START = `${CONSOLE}/`;

/** Stored return URLs of other sign-ins are absolute. */
export function isConsolePath(returnTo: string): boolean {
  return returnTo.startsWith(`${CONSOLE}/`);
}

/** The page that the visitor requested, always one of the console whatever was given. */
export function readConsolePath(given: unknown): string {
  if (typeof given !== 'string' || !URL.canParse(given, ORIGIN)) return START;
  const url = new URL(given, ORIGIN);
  const isPage = url.origin === ORIGIN && isConsolePath(url.pathname) && !url.pathname.startsWith(SIGN_IN);
  return isPage ? `${url.pathname}${url.search}` : START;
}

/** A placeholder, only needed to parse the path as browsers do. */
const ORIGIN = 'http://rowpost.invalid';

export function signInPath(next: string): string {
  return `${SIGN_IN}?${new URLSearchParams({ next }).toString()}`;
}

/** Only the code, for which the page has its own text. */
export function failedSignInPath(next: string, { code }: AppError): string {
  return `${SIGN_IN}?${new URLSearchParams({ next, failed: code }).toString()}`;
}
