import { AppError } from '../../foundation/errors.js';

/** A check of a field, which throws an AppError. */
export type Check = readonly [field: string, check: () => unknown];

/** What a caller can correct in the input. */
const CORRECTABLE: ReadonlySet<number> = new Set([400, 404, 409, 422]);

/**
 * Runs checks one after the other, whatever those before found. Throws the first AppError; if there are several, its details
 * name the fields of all, with a message and a hint for each.
 */
export async function checkAll(checks: Iterable<Check>): Promise<void> {
  const found: { readonly field: string; readonly error: AppError }[] = [];
  for (const [field, check] of checks) {
    try {
      await check();
    } catch (error) {
      if (!(error instanceof AppError) || !CORRECTABLE.has(error.status)) throw error;
      const named = error.details['field'];
      found.push({ field: typeof named === 'string' ? named : field, error });
    }
  }
  const [first, ...others] = found;
  if (!first) return;
  if (others.length === 0) throw first.error;
  throw first.error.withDetails({
    ...first.error.details,
    fields: found.map(({ field }) => field),
    messages: found.map(({ error }) => error.message),
    hints: found.map(({ error }) => error.hint),
  });
}
