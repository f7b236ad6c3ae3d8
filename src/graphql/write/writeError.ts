import { isDatabaseAnswer } from '../../db/sqlState.js';
import { AppError } from '../../errors.js';
import type { PlannedStatement, StatementField } from '../plan/plan.js';
import { columnOfSlot } from './inputValues.js';

/** A value that PostgreSQL refused, with the table and, where PostgreSQL says which parameter it was, the column. */
export function writeError(
  error: AppError,
  field: StatementField,
  { slots }: Pick<PlannedStatement, 'slots'>,
): AppError {
  const { code, message, cause } = error;
  if (code !== 'BAD_USER_INPUT' || field.table === undefined || !isDatabaseAnswer(cause)) return error;
  // "unnamed portal parameter $2 = '...'"
  const parameter = /parameter \$(\d+)/.exec(cause.where ?? '')?.[1];
  const slot = parameter === undefined ? undefined : slots[Number(parameter) - 1];
  const column = slot && columnOfSlot(slot);
  return new AppError(code, column === undefined ? message : `${column}: ${message}`, {
    details: { ...error.details, table: field.table, ...(column === undefined ? {} : { column }) },
    cause,
  });
}
