import type { IncomingMessage } from 'node:http';

/** The value of a cookie; undefined if the request has none with this name. */
export function readCookie({ headers }: IncomingMessage, name: string): string | undefined {
  const pairs = (headers.cookie ?? '').split(';').map((pair) => pair.trim().split('='));
  return pairs.find(([key]) => key === name)?.[1];
}
