/**
 * The first and the last of some times as PostgreSQL writes them: in UTC, so their texts have their order. A statement
 * that is given them besides finds its partitions before it runs; else it opens all of them, each time.
 *
 * Such a statement looks each row up by a lateral subquery with `limit 1`. Joined plainly, the planner may read all of
 * the range instead and pick the rows from it: it made its plan when the day's partition was all but empty.
 *
 * None that locks or changes rows is given a range, nor any other time to compare a partitioned table's with, nor does
 * it lock in a lateral subquery: where it waits for another session and looks again, PostgreSQL 18 (seen in 18.4; 15 does
 * not) loses what it knew of the partitions, and finds nothing or breaks down.
 */
export function timeRange(times: readonly string[]): readonly [first: string, last: string] {
  let [first = '-infinity'] = times;
  let last = first;
  for (const time of times) {
    if (time < first) first = time;
    if (time > last) last = time;
  }
  return [first, last];
}
