import type { EmailQuery as StoredQuery } from './emailTypeParts.js';
import { AppError } from '../../errors.js';
import { FieldError } from '../../graphql/response.js';
import type { EmailQuery } from '../../graphql/email/emailQuery.js';

/** Whether a query can run with these of its arguments. Rejects with AppError. */
export type QueryCheck = (query: EmailQuery) => Promise<void>;

/** Checks a stored query with its ordering and its filter, as far as that can be said before the filter is rendered. Throws AppError. */
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
 * With null in the place of each expression. That need not compile as what is rendered does, but a column that it names
 * as a whole is named by every rendering, too.
 */
async function checkTemplatedFilter(query: string, filter: string, check: QueryCheck): Promise<void> {
  try {
    await check({ query, filter: filter.replace(/\{\{.*?\}\}/gs, ' null ') });
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'EMAIL_QUERY_INVALID') throw error;
    const refused = error.cause instanceof FieldError ? error.cause.error : error;
    if (refused.code === 'FILTER_UNKNOWN_COLUMN') throw error;
  }
}
