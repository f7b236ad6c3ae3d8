import { isServerError } from '../../db/sql/sqlState.js';
import { AppError } from '../../foundation/errors.js';

const UNTRANSLATABLE = '22P05';
const ZERO_IN_JSON =
  'A json value of the request or of some row contains \\u0000, which goes with no comparison: compare text(column) instead.';
const NO_VALUE =
  "An expression has no value for some row, for example because of an overflow: the filter's, a policy rule's, or that of a virtual column or a view.";

/**
 * The error of a read-only statement. A value that is out of range there (SQLSTATE class 22: an overflow, the root of a
 * negative number) comes from an expression: the caller's, that of a policy rule, which sees all rows, or that of a view or
 * a virtual column, which PostgreSQL doesn't tell apart. So the message must not contain the value.
 */
export function readError(error: AppError): AppError {
  const { cause, message } = error;
  if (!isServerError(cause) || !cause.code?.startsWith('22')) return error;
  const hint = cause.code === UNTRANSLATABLE ? ZERO_IN_JSON : NO_VALUE;
  return new AppError('FILTER_TYPE', message, { hint, cause });
}
