import type { CompareOperator, FilterNode, IsNode } from './tree.js';

const NEGATIONS: Readonly<Record<CompareOperator, CompareOperator>> = {
  '=': '!=',
  '!=': '=',
  '<': '>=',
  '>=': '<',
  '>': '<=',
  '<=': '>',
};

/** Rewrites `= null` and `!= null` to IS NULL and IS NOT NULL. */
export function withNullTest(node: FilterNode): FilterNode {
  if (node.kind !== 'compare' || (node.operator !== '=' && node.operator !== '!=')) return node;
  const { left, right, at, operator } = node;
  if (left.kind !== 'null' && right.kind !== 'null') return node;
  const operand = right.kind === 'null' ? left : right;
  return { kind: 'is', at, negated: operator === '!=', test: 'null', operand };
}

/** The negation under three-valued logic; undefined if it can't be written without NOT. */
export function negationOf(node: FilterNode): FilterNode | undefined {
  switch (node.kind) {
    case 'compare':
      return { ...node, operator: NEGATIONS[node.operator] };
    case 'distinct':
    case 'in':
    case 'like':
    case 'between':
    case 'is':
      return { ...node, negated: !node.negated };
    default:
      return undefined;
  }
}

/** Whether it is `path IS NULL`, which is also true if the path leads to no row. */
export function isAbsence(node: FilterNode): node is IsNode {
  return node.kind === 'is' && node.test === 'null' && !node.negated && node.operand.kind === 'path';
}
