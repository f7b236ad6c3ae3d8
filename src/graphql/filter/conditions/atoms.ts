import { sql } from '../../../db/sql/sql.js';
import { isAggregate } from '../values/aggregateComparison.js';
import { compileTest } from './compileTest.js';
import type { Condition, Environment } from '../environment.js';
import type { Position } from '../syntax/errors.js';
import { nullRejectedPaths } from './nullRejection.js';
import { isToMany, JoinedRows, resolvePath, type Hop, type ResolvedPath } from '../rows/paths.js';
import { isAbsence, negationOf, withNullTest } from '../syntax/rewrite.js';
import type { Row } from '../rows/scope.js';
import type { FilterNode, PathNode } from '../syntax/tree.js';
import { partsOf } from '../syntax/walk.js';

/**
 * How to compile a condition without AND, OR and NOT: a test of the current row and of the rows its routes lead to, which
 * are joined inside one `exists`.
 */
export interface AtomPlan {
  readonly test: FilterNode;
  /** Whether to wrap the test in `not`, because it has no negated form of its own. */
  readonly testNegated: boolean;
  readonly routes: readonly Route[];
  /** `not exists`. */
  readonly negated: boolean;
  /** ANDed conditions with equal keys concern the same related row and share one `exists`. */
  readonly sharedRow: string | undefined;
}

/** Relations to join, from the current row. */
interface Route {
  readonly start: Row;
  readonly hops: readonly Hop[];
  readonly at: Position;
}

/**
 * Relations in a condition are joined in an `exists`:
 * - collections always: some row satisfies the condition or, under NOT, no row does. A path that occurs twice in one
 *   condition refers to the same row; in two conditions each refers to a row of its own;
 * - to-one relations if the condition can't be true without their row, so that PostgreSQL may start from them.
 */
export function planAtom(
  given: FilterNode,
  environment: Environment,
  want: 'truth' | 'value',
  negated: boolean,
): AtomPlan {
  const node = withNullTest(given);
  const collections = routesTo(atomPaths(node), environment, collectionHops);
  if (collections.length > 0) {
    const routes = [...collections, ...requiredRoutes(node, environment)];
    return { test: node, testNegated: false, routes, negated, sharedRow: undefined };
  }
  const opposite = negated ? negationOf(node) : undefined;
  const test = opposite ?? node;
  const testNegated = negated && opposite === undefined;
  if (want === 'value') return { test, testNegated, routes: [], negated: false, sharedRow: undefined };
  if (isAbsence(test)) {
    const presence = { ...test, negated: true };
    const routes = requiredRoutes(presence, environment);
    if (routes.length > 0) {
      return { test: presence, testNegated: false, routes, negated: true, sharedRow: undefined };
    }
  }
  const routes = requiredRoutes(test, environment);
  return { test, testNegated, routes, negated: false, sharedRow: routes[0]?.hops[0]?.key };
}

/** Compiles conditions that must all hold, over one set of related rows. All have the same `negated`. */
export function compileAtoms(plans: readonly [AtomPlan, ...AtomPlan[]], environment: Environment): Condition {
  const rows = new Map(environment.rows);
  const joined = new JoinedRows(environment);
  for (const { start, hops, at } of plans.flatMap((plan) => plan.routes)) {
    let row = start;
    for (const hop of hops) {
      row = rows.get(hop.key) ?? joined.follow(row, hop, at);
      rows.set(hop.key, row);
    }
  }
  const tests = plans.map(({ test, testNegated }) => {
    const written = compileTest(test, { ...environment, rows });
    return testNegated ? { ...written, sql: sql`(not ${written.sql})`, indexable: false } : written;
  });
  const some = joined.exists(tests);
  return plans[0].negated ? { ...some, sql: sql`(not ${some.sql})`, indexable: false } : some;
}

function requiredRoutes(node: FilterNode, environment: Environment): Route[] {
  return routesTo(nullRejectedPaths(node), environment, ({ hops }) => hops);
}

/** The routes along which paths lead to rows that are not joined yet. */
function routesTo(
  paths: readonly PathNode[],
  environment: Environment,
  hopsOf: (path: ResolvedPath) => readonly Hop[],
): Route[] {
  return paths
    .map((path) => {
      const resolved = resolvePath(path, environment);
      return { start: resolved.start, hops: hopsOf(resolved), at: path.at };
    })
    .filter(({ hops }) => hops.some((hop) => !environment.rows.has(hop.key)));
}

/** The path up to its last collection. */
function collectionHops({ hops }: ResolvedPath): readonly Hop[] {
  return hops.slice(0, hops.findLastIndex(isToMany) + 1);
}

/** Paths of the condition, except inside aggregates, where they don't start at the current row. */
function atomPaths(node: FilterNode): PathNode[] {
  if (node.kind === 'path') return [node];
  if (node.kind === 'call' && isAggregate(node)) return [];
  return partsOf(node).flatMap(atomPaths);
}
