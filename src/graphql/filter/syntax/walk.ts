import type { FilterNode, PathNode } from './tree.js';

/** The node's children. */
export function partsOf(node: FilterNode): readonly FilterNode[] {
  switch (node.kind) {
    case 'and':
    case 'or':
    case 'list':
      return node.items;
    case 'not':
    case 'is':
    case 'sign':
      return [node.operand];
    case 'compare':
    case 'distinct':
    case 'in':
    case 'arithmetic':
      return [node.left, node.right];
    case 'like':
      return [node.left, node.pattern];
    case 'between':
      return [node.value, node.low, node.high];
    case 'call':
      return node.args;
    default:
      return [];
  }
}

/** All paths below the node. */
export function pathsOf(node: FilterNode): PathNode[] {
  return node.kind === 'path' ? [node] : partsOf(node).flatMap(pathsOf);
}
