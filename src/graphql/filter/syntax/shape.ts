import type { FilterNode } from './tree.js';

/** Equal for trees that differ only in positions and literal values; part of the key of cached plans. */
export function shapeOf(node: FilterNode): string {
  switch (node.kind) {
    case 'everything':
      return '';
    case 'and':
    case 'or':
      return `(${node.kind} ${node.items.map(shapeOf).join(' ')})`;
    case 'not':
      return `(not ${shapeOf(node.operand)})`;
    case 'compare':
    case 'arithmetic':
      return `(${node.operator} ${shapeOf(node.left)} ${shapeOf(node.right)})`;
    case 'distinct':
      return `(${negation(node)}distinct ${shapeOf(node.left)} ${shapeOf(node.right)})`;
    case 'in':
      return `(${negation(node)}in ${shapeOf(node.left)} ${shapeOf(node.right)})`;
    case 'like':
      return `(${negation(node)}${node.caseless ? 'ilike' : 'like'} ${shapeOf(node.left)} ${shapeOf(node.pattern)})`;
    case 'between':
      return `(${negation(node)}between ${shapeOf(node.value)} ${shapeOf(node.low)} ${shapeOf(node.high)})`;
    case 'is':
      return `(is-${negation(node)}${node.test} ${shapeOf(node.operand)})`;
    case 'sign':
      return `(sign${node.operator} ${shapeOf(node.operand)})`;
    case 'call':
      return `(call ${node.name}${node.star ? ' *' : ''} ${node.args.map(shapeOf).join(' ')})`;
    case 'path':
      return JSON.stringify(node.names);
    case 'principal':
      return `$${node.field}`;
    case 'number':
      return node.size;
    case 'text':
      return node.size === 0 ? 'text' : `text${node.size}`;
    case 'boolean':
      return String(node.value);
    case 'null':
      return 'null';
    case 'literals':
      return `{${node.classes.join(' ')}${node.hasNull ? ' null' : ''}}`;
    case 'list':
      return `(list ${node.items.map(shapeOf).join(' ')})`;
  }
}

function negation(node: { readonly negated: boolean }): string {
  return node.negated ? 'not-' : '';
}
