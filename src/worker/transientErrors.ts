import type { AppError, ErrorCode } from '../errors.js';

/** Errors that say nothing about the tenant's settings: the same work may succeed later. */
const TRANSIENT: ReadonlySet<ErrorCode> = new Set([
  'TOO_BUSY',
  'STATEMENT_TIMEOUT',
  'DATABASE_UNAVAILABLE',
  'INTERNAL_ERROR',
]);

export function isTransient(error: AppError): boolean {
  return TRANSIENT.has(error.code);
}
