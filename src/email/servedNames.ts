import { graphqlName } from '../db/catalog/names.js';
import { isJsonObject, parseJson, writeJson } from '../losslessJson.js';

/** Whether there may be a name that GraphQL would refuse; texts may match as well, which costs only time. */
const MAY_BE_RENAMED = /"(?:[^"\\]*[^_0-9A-Za-z"\\]|\d|__)[^"]*"\s*:/;

/**
 * A record as JSON text, in which each column also goes by the name that queries and conditions have for it (`odd-name` is
 * `odd_name`), unless another column has that name.
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
