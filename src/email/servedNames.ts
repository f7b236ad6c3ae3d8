import { graphqlName } from '../db/catalog/names.js';
import { isJsonObject, parseJson, writeJson } from '../losslessJson.js';

/**
 * A record as JSON text in which each column is also available under its GraphQL name (`odd_name` for `odd-name`), unless
 * another column has that name.
 */
export function withServedNames(record: string | null): string {
  if (record === null) return 'null';
  // The names alone, which is faster than reading every number exactly.
  if (!namesOf(JSON.parse(record)).some((name) => graphqlName(name) !== name)) return record;
  const row = parseJson(record);
  if (!isJsonObject(row)) return record;
  const served = Object.keys(row).flatMap((name) => {
    const wanted = graphqlName(name);
    return wanted === name || Object.hasOwn(row, wanted) ? [] : [[wanted, row[name]] as const];
  });
  return served.length === 0 ? record : writeJson({ ...row, ...Object.fromEntries(served) });
}

const namesOf = (row: unknown): readonly string[] => (isJsonObject(row) ? Object.keys(row) : []);
