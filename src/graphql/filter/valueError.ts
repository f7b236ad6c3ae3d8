import { isDatabaseAnswer } from '../../db/sqlState.js';
import { AppError } from '../../errors.js';

/**
 * The error of a statement that only read. A value that does not fit there (SQLSTATE class 22: an overflow, the root of
 * a negative number) is one of an expression: the caller's, or that of a policy rule, which sees all rows. The message
 * therefore holds no value.
 */
export function readError(error: AppError): AppError {
  const { cause, message } = error;
  if (!isDatabaseAnswer(cause) || !cause.code?.startsWith('22')) return error;
  return new AppError('FILTER_TYPE', message, {
    hint: 'For some row the expression has no value, because of an overflow for instance.',
    cause,
  });
}
