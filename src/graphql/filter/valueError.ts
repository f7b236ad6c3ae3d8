import { isDatabaseAnswer } from '../../db/sqlState.js';
import { AppError } from '../../errors.js';

/**
 * The error of a statement that only read. What PostgreSQL says of values there (SQLSTATE class 22: an overflow, the
 * root of a negative number) is about an expression that the caller wrote: only rows that the caller may read are
 * computed with.
 */
export function readError(error: AppError): AppError {
  const { cause, message } = error;
  if (!isDatabaseAnswer(cause) || !cause.code?.startsWith('22')) return error;
  return new AppError('FILTER_TYPE', message, {
    hint: 'For some row the expression has no value, because of an overflow for instance.',
    cause,
  });
}
