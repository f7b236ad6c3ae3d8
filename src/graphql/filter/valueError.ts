import { isDatabaseAnswer } from '../../db/sqlState.js';
import { AppError } from '../../errors.js';

/**
 * The error of a read-only statement. A value that is out of range there (SQLSTATE class 22: an overflow, the root of a
 * negative number) comes from an expression: the caller's, or that of a policy rule, which sees all rows. So the message
 * must not contain the value.
 */
export function readError(error: AppError): AppError {
  const { cause, message } = error;
  if (!isDatabaseAnswer(cause) || !cause.code?.startsWith('22')) return error;
  return new AppError('FILTER_TYPE', message, {
    hint: 'The expression has no value for some row, for example because of an overflow.',
    cause,
  });
}
