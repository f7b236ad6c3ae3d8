import type { IncomingMessage } from 'node:http';
import { AppError } from '../../foundation/errors.js';

const MAX_KEY_CHARACTERS = 255;

/**
 * Reads the header Idempotency-Key of a POST: a structured-field string, as in the IETF draft, or the bare text that most
 * clients send. Throws AppError BAD_REQUEST.
 * https://datatracker.ietf.org/doc/draft-ietf-httpapi-idempotency-key-header/
 */
export function readIdempotencyKey({ method, headers }: IncomingMessage): string | undefined {
  const header = headers['idempotency-key'];
  if (header === undefined || method !== 'POST') return undefined;
  const text = String(header);
  const key = /^"((?:[^"\\]|\\["\\])*)"$/.exec(text)?.[1]?.replace(/\\(["\\])/g, '$1') ?? text;
  if (/^[ -~]+$/.test(key) && key.length <= MAX_KEY_CHARACTERS) return key;
  throw new AppError(
    'BAD_REQUEST',
    `Idempotency-Key must be 1 to ${MAX_KEY_CHARACTERS} printable ASCII characters.`,
    {
      hint: 'Send a UUID, the same one for each repeat of the request.',
    },
  );
}

export type ReadFrom = 'primary' | 'replica';

/** Reads the header X-Read; undefined without one. Throws AppError BAD_REQUEST. */
export function readFromHeader({ headers }: IncomingMessage): ReadFrom | undefined {
  const value = headers['x-read'];
  if (value === undefined || value === 'primary' || value === 'replica') return value;
  throw new AppError('BAD_REQUEST', 'X-Read must be primary or replica.', {
    hint: 'Leave it out to read the newest data.',
  });
}
