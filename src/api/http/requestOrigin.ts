import type { IncomingMessage } from 'node:http';

/**
 * Whether a request comes from a page of one of these origins or of this service, or from no page at all. Browsers send a form's
 * origin in one of two headers; other clients send neither.
 */
export function isFromOrigin({ headers }: IncomingMessage, origins: readonly string[]): boolean {
  const { origin, host, 'sec-fetch-site': site } = headers;
  if (origin === undefined) return site === undefined || site === 'same-origin' || site === 'none';
  return origins.includes(origin) || (URL.canParse(origin) && new URL(origin).host === host);
}
