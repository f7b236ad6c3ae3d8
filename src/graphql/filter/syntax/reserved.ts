/** Words that are never column names, unless in backticks or after a dot. */
export const RESERVED: ReadonlySet<string> = new Set([
  'and',
  'or',
  'not',
  'in',
  'like',
  'ilike',
  'is',
  'null',
  'between',
  'true',
  'false',
]);
