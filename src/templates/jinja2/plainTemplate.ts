import type { Expression, Statement } from './ast.js';

/** Filters whose work is what the budget counts for them, to within a small factor. */
const PLAIN_FILTERS: ReadonlySet<string> = new Set([
  ...['upper', 'lower', 'capitalize', 'title', 'trim', 'string', 'replace', 'truncate', 'format', 'join'],
  ...['abs', 'int', 'float', 'round', 'length', 'count', 'first', 'last'],
  ...['default', 'd', 'escape', 'e', 'safe'],
]);

/**
 * Whether a template only writes values, chooses and loops: it calls nothing, computes nothing and remembers nothing
 * from one iteration to the next, so that a small budget surely bounds its time and memory.
 */
export function isPlain(statements: readonly Statement[]): boolean {
  return statements.every(isPlainStatement);
}

function isPlainStatement(node: Statement): boolean {
  switch (node.kind) {
    case 'output':
      return node.parts.every((part) => part.kind === 'data' || isPlainExpression(part));
    case 'if':
      return (
        [node, ...node.elifs].every(({ test, body }) => isPlainExpression(test) && isPlain(body)) &&
        isPlain(node.otherwise)
      );
    case 'for':
      return (
        !node.recursive &&
        isPlainExpression(node.iterable) &&
        isPlainExpression(node.test) &&
        isPlain(node.body) &&
        isPlain(node.otherwise)
      );
    default:
      return false;
  }
}

function isPlainExpression(node: Expression | undefined): boolean {
  if (node === undefined) return true;
  switch (node.kind) {
    case 'constant':
    case 'name':
      return true;
    case 'attribute':
      return isPlainExpression(node.target);
    case 'item':
      return isPlainExpression(node.target) && isPlainExpression(node.key);
    case 'unary':
      return isPlainExpression(node.operand);
    case 'logical':
      return isPlainExpression(node.left) && isPlainExpression(node.right);
    case 'compare':
      return isPlainExpression(node.first) && node.rest.every(({ operand }) => isPlainExpression(operand));
    case 'conditional':
      return [node.test, node.then, node.otherwise].every(isPlainExpression);
    case 'filter':
    case 'test': {
      if (node.kind === 'filter' && !PLAIN_FILTERS.has(node.name)) return false;
      const { positional, named, spread, namedSpread } = node;
      if (spread !== undefined || namedSpread !== undefined) return false;
      return [node.input, ...positional, ...named.map(({ value }) => value)].every(isPlainExpression);
    }
    default:
      return false;
  }
}
