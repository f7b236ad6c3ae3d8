import { isAggregate } from './aggregateComparison.js';
import { isStrictCall } from './functions.js';
import type { FilterNode, PathNode } from './tree.js';

/**
 * The paths without whose value the condition can't be true. Rows on the way to them can be joined in an `exists`,
 * which PostgreSQL may start from; for others a subselect must give null where there is no row.
 */
export function nullRejectedPaths(node: FilterNode): PathNode[] {
  switch (node.kind) {
    case 'compare':
      return [...strict(node.left), ...strict(node.right)];
    case 'in':
      if (node.right.kind === 'literals' && node.right.hasNull && !node.negated) return [];
      return node.right.kind === 'list' ? strict(node.left) : [...strict(node.left), ...strict(node.right)];
    case 'like':
      return [...strict(node.left), ...strict(node.pattern)];
    case 'between':
      return node.negated
        ? strict(node.value)
        : [...strict(node.value), ...strict(node.low), ...strict(node.high)];
    case 'is':
      return (node.test === 'null') === node.negated ? strict(node.operand) : [];
    default:
      return strict(node);
  }
}

/** The paths that make the value null when they are. */
function strict(node: FilterNode): PathNode[] {
  switch (node.kind) {
    case 'path':
      return [node];
    case 'arithmetic':
      return [...strict(node.left), ...strict(node.right)];
    case 'sign':
      return strict(node.operand);
    case 'call':
      return isStrictCall(node) && !isAggregate(node) ? node.args.flatMap(strict) : [];
    default:
      return [];
  }
}
