import type { AppError, ErrorCode } from '../foundation/errors.js';

/** The database is unavailable or overloaded, which says nothing about the work itself. */
const BUSY: ReadonlySet<ErrorCode> = new Set(['TOO_BUSY', 'DATABASE_UNAVAILABLE']);

export function isBusy(error: AppError): boolean {
  return BUSY.has(error.code);
}

/** The same work may succeed when retried. */
export function isTransient(error: AppError): boolean {
  return isBusy(error) || error.code === 'STATEMENT_TIMEOUT' || error.code === 'INTERNAL_ERROR';
}
