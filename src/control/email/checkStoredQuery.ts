import type { EmailQuery as StoredQuery } from './emailTypeParts.js';
import { literalText } from '../../email/emailFields.js';
import { AppError } from '../../errors.js';
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
  if (filter === null) return;
  const isTemplated = /\{[{%#]/.test(filter);
  if (!isTemplated) await check({ query, filter });
  else if (!/\{[%#]/.test(filter)) await checkTemplatedFilter(query, filter, check);
}

/**
 * Checks the filter with null in place of each template expression. Unlike what is rendered later, that need not compile,
 * but a column written outside the expressions occurs in every rendering.
 */
async function checkTemplatedFilter(query: string, filter: string, check: QueryCheck): Promise<void> {
  try {
    await check({ query, filter: literalText(filter, ' null ') });
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'EMAIL_QUERY_INVALID') throw error;
    const refused = error.cause instanceof FieldError ? error.cause.error : error;
    if (refused.code === 'FILTER_UNKNOWN_COLUMN') throw error;
  }
}
