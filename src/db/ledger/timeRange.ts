/**
 * The earliest and latest of some times in PostgreSQL's text form, which sorts correctly because it is in UTC. Given as
 * extra parameters, they allow partition pruning at executor startup; without them a statement opens every partition.
 *
 * Such a statement looks each row up in a lateral subquery with `limit 1`. With a plain join the planner may scan the
 * whole range instead, from a plan made while the day's partition was nearly empty.
 *
 * A statement that locks or changes rows must not be given a range, or any other time to compare with a partitioned
 * table's, nor lock rows in a lateral subquery: when it rechecks a row after waiting for another session (EvalPlanQual),
 * PostgreSQL 18 (seen in 18.4, not in 15) loses its pruning state and finds no rows or fails.
 */
export function timeRange(times: readonly string[]): readonly [first: string, last: string] {
  const sorted = [...times].sort();
  return [sorted[0] ?? 'infinity', sorted.at(-1) ?? '-infinity'];
}
