import type { Inputs, Slot } from '../../db/sql/sql.js';
import { failedFunction } from '../../db/sql/failedCode.js';
import { isRaised, isServerError } from '../../db/sql/sqlState.js';
import { isOfParameter, parameterIn, type PostgresError } from '../../db/sql/toAppError.js';
import { AppError } from '../../foundation/errors.js';
import { ownValue } from '../../foundation/ownValue.js';
import { refusalOfSlot } from './values/conversions.js';

const UNTRANSLATABLE = '22P05';
const ZERO_IN_JSON =
  'A json value of the request or of some row contains \\u0000, which goes with no comparison: compare text(column) instead.';
const NO_VALUE =
  "An expression has no value for some row, for example because of an overflow: the filter's, a policy rule's, or that of a virtual column or a view.";

/** The parameters of a statement that failed, and whether the caller may read all rows. */
export interface ReadStatement {
  readonly slots: readonly Slot[];
  readonly inputs: Inputs;
  readonly seesAll: boolean;
}

/**
 * The error of a read-only statement. A value that is out of range there (SQLSTATE class 22: an overflow, the root of a
 * negative number) comes from an expression: the caller's, that of a policy rule, which sees all rows, or that of a view or
 * a virtual column, which PostgreSQL doesn't tell apart. So the message must not contain the value. The same goes for what a
 * function says of some row.
 */
export function readError(error: AppError, { slots, inputs, seesAll }: ReadStatement): AppError {
  const { cause, message } = error;
  if (!isServerError(cause)) return error;
  if (isRaised(cause)) return seesAll ? error : hiddenMessage(error);
  if (isOfParameter(cause)) {
    const slot = slots[parameterIn(cause) - 1];
    return (slot && refusalOfSlot(slot, inputs)) ?? new AppError('FILTER_TYPE', message, { cause });
  }
  const uncompared =
    failedFunction(cause) === undefined ? ownValue(UNCOMPARED, cause.code ?? '')?.(cause) : undefined;
  if (uncompared) return new AppError('FILTER_TYPE', uncompared[0], { hint: uncompared[1], cause });
  if (!cause.code?.startsWith('22')) return error;
  const hint = cause.code === UNTRANSLATABLE ? ZERO_IN_JSON : NO_VALUE;
  return new AppError('FILTER_TYPE', message, { hint, cause });
}

function hiddenMessage({ code, cause }: AppError): AppError {
  return new AppError(code, 'A function of the database raised an error for some row.', { cause });
}

type Refusal = readonly [message: string, hint: string];

const COLLATIONS: Refusal = [
  "PostgreSQL can't compare texts of two collations.",
  'Compare columns of one collation, or a column with a text.',
];

/** What PostgreSQL can't compare, which it says once it meets the values. */
const UNCOMPARED: Readonly<Record<string, (error: PostgresError) => Refusal | undefined>> = {
  '0A000': ({ message }) =>
    message.startsWith('nondeterministic collations')
      ? [
          'ilike, like and some functions do not work with a nondeterministic collation.',
          'Compare such a column with =, or by another column.',
        ]
      : undefined,
  '42883': ({ position }) =>
    position === undefined
      ? ["PostgreSQL can't compare values of such a type.", 'Compare another column, or text(column).']
      : undefined,
  '42P21': () => COLLATIONS,
  '42P22': () => COLLATIONS,
};
