import type { EmailFailure, QueryOutcome } from '../../email/email.js';
import { isJsonObject } from '../../foundation/json/losslessJson.js';

const MAX_WARNINGS = 5;
/** Beyond what relations nest: values of json columns. */
const MAX_DEPTH = 40;

/**
 * Finds lists of the queries' results that have as many rows as a list without `limit` has at most, so that an email may lack the rest.
 * @param read the value of a query's result
 */
export function cutLists(
  queries: readonly QueryOutcome[],
  defaultLimit: number,
  read: (json: string) => unknown,
): readonly EmailFailure[] {
  return queries.flatMap((query, index) => {
    if (!query.ok) return [];
    const paths = pathsOfLists(read(query.json), defaultLimit, query.outvar);
    return paths.slice(0, MAX_WARNINGS).map((path) => ({
      code: 'LIST_CUT',
      field: `queries[${index}].query`,
      message: `${path} has ${defaultLimit} rows, as many as a list without a limit has: there may be more`,
      hint: 'If the email is to have all of them, give the list in the query a limit, such as (limit: 1000).',
    }));
  });
}

/** Of lists of that many objects: the first of those that differ only in an index. */
function pathsOfLists(value: unknown, length: number, path: string, depth = 0): readonly string[] {
  if (depth > MAX_DEPTH) return [];
  if (Array.isArray(value)) {
    const rows = value as readonly unknown[];
    const isCut = rows.length === length && rows.every(isJsonObject);
    const below = rows.flatMap((row, index) => pathsOfLists(row, length, `${path}[${index}]`, depth + 1));
    const first = new Map(below.map((each) => [each.replace(/\[\d+\]/g, '[]'), each] as const).reverse());
    return [...(isCut ? [path] : []), ...first.values()];
  }
  if (!isJsonObject(value)) return [];
  return Object.entries(value).flatMap(([name, inner]) =>
    pathsOfLists(inner, length, `${path}.${name}`, depth + 1),
  );
}
