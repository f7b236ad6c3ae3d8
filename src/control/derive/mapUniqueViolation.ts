import { isUniqueViolation } from '../../db/sql/sqlState.js';
import { AppError, type ErrorDetails } from '../../foundation/errors.js';

/** Runs a write. If a name is taken, throws NAME_TAKEN with the given message instead of PostgreSQL's error. */
export async function mapUniqueViolation<T>(
  write: PromiseLike<T>,
  message: string,
  details: ErrorDetails = {},
  hint?: string,
): Promise<T> {
  try {
    return await write;
  } catch (error) {
    if (isUniqueViolation(error)) {
      throw new AppError('NAME_TAKEN', message, { details, cause: error, ...(hint ? { hint } : {}) });
    }
    throw error;
  }
}

/** The message of NAME_TAKEN. @param among what is named so, such as `role of the tenant` */
export function nameTaken(among: string, name: string): string {
  return `Another ${among} is named "${name}".`;
}
