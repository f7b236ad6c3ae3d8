import { graphqlName } from '../db/catalog/names.js';
import { isJsonObject, parseJson, writeJson } from '../losslessJson.js';

/** May match a name that is invalid in GraphQL; a false match inside a string only costs time. */
const MAY_BE_RENAMED = /"(?:[^"\\]*[^_0-9A-Za-z"\\]|\d|__)[^"]*"\s*:/;

/**
 * A record as JSON text in which each column is also available under its GraphQL name (`odd_name` for `odd-name`), unless
 * another column has that name.
 */
export function withServedNames(record: string | null): string {
  if (record === null) return 'null';
  if (!MAY_BE_RENAMED.test(record)) return record;
  const row = parseJson(record);
  if (!isJsonObject(row)) return record;
  const served = Object.keys(row).flatMap((name) => {
    const wanted = graphqlName(name);
    return wanted === name || Object.hasOwn(row, wanted) ? [] : [[wanted, row[name]] as const];
  });
  return served.length === 0 ? record : writeJson({ ...row, ...Object.fromEntries(served) });
}
