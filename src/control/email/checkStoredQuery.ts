import type { EmailQuery as StoredQuery } from './emailTypeParts.js';
import { isTemplated, literalText } from '../../email/emailFields.js';
import { AppError } from '../../foundation/errors.js';
import { FieldError } from '../../graphql/response.js';
import type { EmailQuery } from '../../graphql/email/emailQuery.js';

/** Rejects with AppError if a query can't run with its arguments. */
export type QueryCheck = (query: EmailQuery) => Promise<void>;

/** Checks a stored query with its ordering and its filter, as far as possible before the filter is rendered. Throws AppError. */
export async function checkStoredQuery(
  { query, filter, ordering }: StoredQuery,
  check: QueryCheck,
): Promise<void> {
  await check({ query });
  if (ordering) await check({ query, ordering });
  await checkFilter(query, filter, check);
}

/**
 * Checks the filter of a query that is valid without it, as far as possible before it is rendered. Throws AppError FILTER_…,
 * with the position in the filter.
 */
export async function checkFilter(
  query: string,
  filter: string | null | undefined,
  check: QueryCheck,
): Promise<void> {
  if (filter == null) return;
  if (!isTemplated(filter)) await check({ query, filter }).catch(throwRefusal);
  else if (!/\{[%#]/.test(filter)) await checkTemplatedFilter(query, filter, check);
}

/**
 * Checks the filter with null in place of each template expression. Unlike what is rendered later, that need not compile,
 * but a column written outside the expressions occurs in every rendering.
 */
async function checkTemplatedFilter(query: string, filter: string, check: QueryCheck): Promise<void> {
  try {
    await check({ query, filter: literalText(filter, ' null ') }).catch(throwRefusal);
  } catch (error) {
    if (!(error instanceof AppError) || error.code === 'FILTER_UNKNOWN_COLUMN') throw error;
    if (!error.code.startsWith('FILTER_') && error.code !== 'EMAIL_QUERY_INVALID') throw error;
  }
}

/** If a field of the query was refused, throws that field's error. */
function throwRefusal(error: unknown): never {
  throw error instanceof AppError && error.cause instanceof FieldError ? error.cause.error : error;
}
