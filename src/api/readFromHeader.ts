import type { IncomingMessage } from 'node:http';
import { AppError } from '../errors.js';

export type ReadFrom = 'primary' | 'replica';

/** Reads the header X-Read; undefined without one. Throws AppError BAD_REQUEST. */
export function readFromHeader({ headers }: IncomingMessage): ReadFrom | undefined {
  const value = headers['x-read'];
  if (value === undefined || value === 'primary' || value === 'replica') return value;
  throw new AppError('BAD_REQUEST', 'X-Read must be primary or replica.', {
    hint: 'Leave it out to read the newest data.',
  });
}
