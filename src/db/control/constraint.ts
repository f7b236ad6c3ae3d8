import { AppError, type ErrorDetails } from '../../errors.js';

const UNIQUE_VIOLATION = '23505';

/** Runs a write; when it meets a taken name, throws NAME_TAKEN with the given message instead of PostgreSQL's error. */
export async function orNameTaken<T>(
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

export function isUniqueViolation(error: unknown): boolean {
  return sqlState(error) === UNIQUE_VIOLATION;
}

/** The SQLSTATE of a PostgreSQL error. */
export function sqlState(error: unknown): string | undefined {
  const code = error instanceof Error ? (error as { code?: unknown }).code : undefined;
  return typeof code === 'string' ? code : undefined;
}
