import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

const ACCEPTED = /^[\w.:-]{1,64}$/;
const processPart = randomBytes(6).toString('base64url');
let count = 0;

/** The caller's `X-Request-Id` if it is a plain token, otherwise a new one. */
export function requestIdOf(req: IncomingMessage): string {
  const given = req.headers['x-request-id'];
  if (typeof given === 'string' && ACCEPTED.test(given)) return given;
  count += 1;
  return `${processPart}-${count.toString(36)}`;
}
