import type { IncomingMessage } from 'node:http';
import { AppError } from '../../errors.js';

/** Prevents login CSRF. Throws AppError PERMISSION_DENIED. */
export function refuseForeignSignIn(req: IncomingMessage): void {
  if (req.headers['sec-fetch-site'] === 'cross-site') {
    throw new AppError('PERMISSION_DENIED', 'Sign in from the page of this service.');
  }
}
