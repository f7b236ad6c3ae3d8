import { sql } from '../../db/sql.js';
import { isAggregate } from './aggregateComparison.js';
import { compileTest } from './conditions.js';
import type { Condition, Environment } from './environment.js';
import type { Position } from './errors.js';
import { nullRejectedPaths } from './nullRejection.js';
import { isToMany, JoinedRows, resolvePath, type Hop, type ResolvedPath } from './paths.js';
import { isAbsence, negationOf, withNullTest } from './rewrite.js';
import type { Row } from './scope.js';
import type { FilterNode, PathNode } from './tree.js';
import { partsOf } from './walk.js';

/**
 * Compiles a condition without AND, OR and NOT. Relations in it become joins inside one `exists`:
 * - collections always: some row satisfies the condition; under NOT, no row does. A path that occurs twice in one
 *   condition means one row; in two conditions it means a row for each;
 * - to-one relations if the condition can't be true without their row, so that PostgreSQL may start from them.
 */
export function compileAtom(
  given: FilterNode,
  environment: Environment,
  want: 'truth' | 'value',
  negated: boolean,
): Condition {
  const node = withNullTest(given);
  const collections = routesTo(atomPaths(node), environment, collectionHops);
  if (collections.length > 0) {
    const routes = [...collections, ...requiredRoutes(node, environment)];
    const some = existsAtom(node, environment, routes, false);
    return negated ? { ...some, sql: sql`(not ${some.sql})` } : some;
  }
  const meant = negated ? negationOf(node) : node;
  const condition = meant ?? node;
  if (want === 'value') return existsAtom(condition, environment, [], meant === undefined);
  if (isAbsence(condition)) {
    const presence = { ...condition, negated: true };
    const routes = requiredRoutes(presence, environment);
    if (routes.length > 0) {
      const some = existsAtom(presence, environment, routes, false);
      return { ...some, sql: sql`(not ${some.sql})` };
    }
  }
  return existsAtom(condition, environment, requiredRoutes(condition, environment), meant === undefined);
}

/** Relations to join, from a row in hand. */
interface Route {
  readonly start: Row;
  readonly hops: readonly Hop[];
  readonly at: Position;
}

/** The condition in an `exists` over the rows that the routes lead to; without any, the condition itself. */
function existsAtom(
  node: FilterNode,
  environment: Environment,
  routes: readonly Route[],
  negated: boolean,
): Condition {
  const rows = new Map(environment.rows);
  const joined = new JoinedRows(environment.scope);
  for (const { start, hops, at } of routes) {
    let row = start;
    for (const hop of hops) {
      row = rows.get(hop.key) ?? joined.follow(row, hop, at);
      rows.set(hop.key, row);
    }
  }
  const condition = compileTest(node, { ...environment, rows });
  const meant = negated ? sql`(not ${condition.sql})` : condition.sql;
  return { sql: joined.exists(meant, condition.canFail), canFail: condition.canFail };
}

function requiredRoutes(node: FilterNode, environment: Environment): Route[] {
  return routesTo(nullRejectedPaths(node), environment, ({ hops }) => hops);
}

/** Routes that still have somewhere to go. */
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

/** The way to the last collection on the path. */
function collectionHops({ hops }: ResolvedPath): readonly Hop[] {
  return hops.slice(0, hops.findLastIndex(isToMany) + 1);
}

/** Paths of the condition; what is in an aggregate is not about the row in hand. */
function atomPaths(node: FilterNode): PathNode[] {
  if (node.kind === 'path') return [node];
  if (node.kind === 'call' && isAggregate(node)) return [];
  return partsOf(node).flatMap(atomPaths);
}
