import { AppError } from '../../foundation/errors.js';
import { NoPrimaryError } from '../failover/primary.js';
import { isServerError } from './sqlState.js';
import { toAppError } from './toAppError.js';

const CONNECTION_LOST = /Connection terminated|timeout exceeded when trying to connect|Connection ended/;

/**
 * The public form of an error from the control tables; undefined if it did not come from the database. Its message may hold
 * names and values, so it is never exposed.
 */
export function explainControlError(error: unknown): AppError | undefined {
  if (error instanceof AppError) return error;
  if (!(error instanceof Error)) return undefined;
  if (isServerError(error)) {
    return error.code?.startsWith('22') === true
      ? new AppError('BAD_USER_INPUT', 'A value is out of range or has the wrong form.', { cause: error })
      : toAppError(error);
  }
  return isConnectionLoss(error) ? toAppError(error) : undefined;
}

function isConnectionLoss(error: Error): boolean {
  const code = (error as { code?: unknown }).code;
  return (
    error instanceof NoPrimaryError ||
    CONNECTION_LOST.test(error.message) ||
    (typeof code === 'string' && /^E[A-Z]{3,}$/.test(code))
  );
}
