import type { AppError } from '../../errors.js';

export const CONSOLE = '/console';
export const SIGN_IN = `${CONSOLE}/sign-in`;
/** Leads to the page that the role begins with. */
const START = `${CONSOLE}/`;

/** Stored addresses of other sign-ins are absolute. */
export function isConsolePath(returnTo: string): boolean {
  return returnTo.startsWith(`${CONSOLE}/`);
}

/** The page that the visitor asked for: always one of the console, whatever was given. */
export function readConsolePath(given: unknown): string {
  if (typeof given !== 'string' || !URL.canParse(given, ORIGIN)) return START;
  const url = new URL(given, ORIGIN);
  const isPage = url.origin === ORIGIN && isConsolePath(url.pathname) && !url.pathname.startsWith(SIGN_IN);
  return isPage ? `${url.pathname}${url.search}` : START;
}

/** Any: it is only there to have the path read as browsers read it. */
const ORIGIN = 'http://rowpost.invalid';

export function signInPath(next: string): string {
  return `${SIGN_IN}?${new URLSearchParams({ next }).toString()}`;
}

/** The code alone: the page has words of its own for each. */
export function failedSignInPath(next: string, { code }: AppError): string {
  return `${SIGN_IN}?${new URLSearchParams({ next, failed: code }).toString()}`;
}
