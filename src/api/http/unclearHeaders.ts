import type { IncomingMessage } from 'node:http';
import { AppError } from '../../foundation/errors.js';

/** Node.js takes the first of several, a proxy in front perhaps the last: both must see the same request. */
const ONCE: ReadonlySet<string> = new Set([
  'authorization',
  'content-encoding',
  'content-range',
  'content-type',
  'host',
  'idempotency-key',
  'x-read',
]);

/** Why a request is refused that a proxy may have understood in another way: BAD_REQUEST. */
export function unclearHeaders({ headers, rawHeaders }: IncomingMessage): AppError | undefined {
  const encoding = headers['transfer-encoding'];
  if (encoding !== undefined && encoding.toLowerCase() !== 'chunked') {
    return new AppError('BAD_REQUEST', 'Transfer-Encoding is not just chunked.');
  }
  const seen = new Set<string>();
  // Names and values alternate.
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]?.toLowerCase() ?? '';
    if (!ONCE.has(name)) continue;
    if (seen.has(name)) return new AppError('BAD_REQUEST', `The request has several ${name} headers.`);
    seen.add(name);
  }
  return undefined;
}
