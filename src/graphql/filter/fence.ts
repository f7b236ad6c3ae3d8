import { join, sql, type Sql } from '../../db/sql.js';
import { conjunction } from './conjunction.js';
import type { Condition } from './environment.js';
import { byReach } from './reads.js';
import type { Predicate } from './scope.js';

/**
 * A user's conditions, evaluated only on rows that pass the policies. PostgreSQL tries the conditions of a WHERE in the
 * order of their cost, so an error or the time of one would tell of rows that the role may not read. It evaluates no
 * branch of a CASE before its condition, and moves nothing out of it. A subquery with OFFSET 0 or a materialized CTE
 * would do as well, but would read all visible rows of a table for a page of ten.
 *
 * What an index can answer by leakproof operators stays outside, or each look-up by a key would read the whole table.
 */
export function fenced(policies: readonly Predicate[], conditions: readonly Condition[]): Sql {
  if (policies.length === 0) return conjunction(conditions);
  const open = conditions.filter((condition) => mayPrecede(policies, condition));
  const closed = conditions.filter((condition) => !open.includes(condition)).sort(byReach);
  if (closed.length === 0) return conjunction(open);
  const fence = {
    sql: sql`case when ${passes(policies)} then ${conjunction(closed)} else false end`,
  };
  return conjunction([...open, fence]);
}

/** The row with this key, if the policy allows it. */
export function keyWithin(policy: Predicate | 'all', key: Sql): Sql {
  if (policy === 'all') return key;
  // What the policy computes of whole tables takes its time whether or not there is such a row.
  return policy.reads === 'tables'
    ? sql`case when ${policy} then ${key} else false end`
    : sql`${key} and ${policy}`;
}

/**
 * Whether the condition may be tried on rows that a policy hides. PostgreSQL computes an aggregate of a whole table when
 * it is first needed: for the first row that gets as far as that policy.
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
