import type { FilterNode, PathNode } from './tree.js';

/** The node's direct parts. */
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

/** Every path in it. */
export function pathsOf(node: FilterNode): PathNode[] {
  return node.kind === 'path' ? [node] : partsOf(node).flatMap(pathsOf);
}
