import { isAggregate } from '../values/aggregateComparison.js';
import { isStrictCall } from '../values/functions.js';
import type { FilterNode, PathNode } from '../syntax/tree.js';

/**
 * The paths that the condition rejects nulls of: it can't be true unless they have a value. Rows on these paths can be
 * joined in an `exists`, which PostgreSQL may start from; others need a subselect that is null where there is no row.
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

/** The paths for which null makes the whole value null. */
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
