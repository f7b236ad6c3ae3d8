import type { AppError } from '../../foundation/errors.js';

export const CONSOLE = '/console';
export const SIGN_IN = `${CONSOLE}/sign-in`;
export const ACCOUNT = `${CONSOLE}/account`;
/** Redirects to the role's start page. */
const START = `${CONSOLE}/`;

/** Whether a session of the console opens it. Stored return URLs of other sign-ins are absolute. */
export function isConsolePath(returnTo: string): boolean {
  return /^\/(console\/|mailbox(\/|\?|$))/.test(returnTo);
}

/** The page that was requested, always one that the session is for, whatever was given. */
export function readConsolePath(given: unknown): string {
  if (typeof given !== 'string' || !URL.canParse(given, ORIGIN)) return START;
  const url = new URL(given, ORIGIN);
  const isPage = url.origin === ORIGIN && isConsolePath(url.pathname) && !url.pathname.startsWith(SIGN_IN);
  return isPage ? `${url.pathname}${url.search}` : START;
}

/** A placeholder, only needed to parse the path as browsers do. */
const ORIGIN = 'http://rowpost.invalid';

/** The path with these values as its query; empty ones and 0 are left out. */
export function linkTo(path: string, values: Readonly<Record<string, string | number>>): string {
  const given = Object.entries(values).flatMap(([name, value]): [string, string][] =>
    value === '' || value === 0 ? [] : [[name, String(value)]],
  );
  return given.length === 0 ? path : `${path}?${new URLSearchParams(given).toString()}`;
}

export const signInPath = (next: string): string => linkTo(SIGN_IN, { next });

/** Only the code, for which the page has its own text. */
export const failedSignInPath = (next: string, { code }: AppError): string =>
  linkTo(SIGN_IN, { next, failed: code });
