import { join, sql, type Sql } from '../../../db/sql/sql.js';
import { conjunction } from '../conjunction.js';
import type { Condition } from '../environment.js';
import { byExtent } from './readExtent.js';
import type { Predicate } from './scope.js';

/**
 * Evaluates a user's conditions only on rows that pass the policies. PostgreSQL evaluates the conditions of a WHERE in
 * order of cost, so an error or the timing of one would reveal rows that the role may not read. It evaluates no branch of
 * a CASE before its condition, and moves nothing out of it. A subquery with OFFSET 0 or a materialized CTE would also
 * work, but would read all visible rows of a table for a page of ten.
 *
 * Conditions that an index can serve with leakproof operators stay outside; otherwise each lookup by key would read the
 * whole table.
 */
export function behindPolicies(policies: readonly Predicate[], conditions: readonly Condition[]): Sql {
  if (policies.length === 0) return conjunction(conditions);
  const open = conditions.filter((condition) => mayPrecede(policies, condition));
  const closed = conditions.filter((condition) => !open.includes(condition)).sort(byExtent);
  if (closed.length === 0) return conjunction(open);
  const fence = {
    sql: sql`case when ${passes(policies)} then ${conjunction(closed)} else false end`,
  };
  return conjunction([...open, fence]);
}

/** The row with this key, if the policy allows it. */
export function keyWithin(policy: Predicate | 'all', key: Sql): Sql {
  if (policy === 'all') return key;
  // If the policy aggregates whole tables, it takes the same time whether or not the row exists.
  return policy.reads === 'tables'
    ? sql`case when ${policy} then ${key} else false end`
    : sql`${key} and ${policy}`;
}

/**
 * Whether the condition may be evaluated on rows that a policy hides. PostgreSQL computes an aggregate of a whole table
 * lazily, for the first row that reaches that policy.
 */
function mayPrecede(policies: readonly Predicate[], { indexable }: Condition): boolean {
  return indexable && policies.every((policy) => policy.reads !== 'tables');
}

function passes(policies: readonly Predicate[]): Sql {
  return join(
    policies.map((policy) => sql`(${policy})`),
    ' and ',
  );
}
