import { join, sql, type Sql } from '../../db/sql/sql.js';

/** All of the conditions, joined by AND. */
export function conjunction(conditions: readonly { readonly sql: Sql }[]): Sql {
  const [only] = conditions;
  if (conditions.length === 1 && only) return only.sql;
  return sql`(${join(
    conditions.map((condition) => condition.sql),
    ' and ',
  )})`;
}
