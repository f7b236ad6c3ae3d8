import type { Arguments, Expression, Statement } from './ast.js';
import { partsOf } from './walk.js';

/**
 * Plain filters with their maximum number of arguments: their work is linear in their input, and charged to the budget if
 * they create text. Filters that sort, group, parse markup or read attributes are not plain.
 */
const PLAIN_FILTERS: ReadonlyMap<string, number> = new Map([
  ...nullary(
    'upper',
    'lower',
    'capitalize',
    'title',
    'trim',
    'string',
    'abs',
    'int',
    'float',
    'length',
    'count',
  ),
  ...nullary('first', 'last', 'escape', 'e', 'safe', 'round'),
  ['default', 2],
  ['d', 2],
  ['join', 1],
  ['replace', 2],
  ['format', 10],
]);

/** Tests that only inspect a value's type. */
const PLAIN_TESTS: ReadonlyMap<string, number> = new Map(
  nullary(
    'defined',
    'undefined',
    'none',
    'boolean',
    'true',
    'false',
    'string',
    'number',
    'integer',
    'float',
    'mapping',
  ),
);

/** Maximum places for `round`. */
const MAX_PLACES = 10;

function nullary(...names: readonly string[]): readonly (readonly [string, number])[] {
  return names.map((name) => [name, 0]);
}

/**
 * Whether a template only prints, branches and loops, and loads layouts by constant names: no calls, no arithmetic, and no
 * state carried between iterations. No single step takes long, so a small budget bounds its time.
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
    case 'block':
      return isPlain(node.body);
    case 'extends':
    case 'include':
      return node.layout.kind === 'constant';
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
    case 'item':
    case 'logical':
    case 'compare':
    case 'conditional':
      return partsOf(node).every(isPlainExpression);
    case 'unary':
      return node.operator === 'not' ? isPlainExpression(node.operand) : node.operand.kind === 'constant';
    case 'filter':
      if (!isPlainExpression(node.input)) return false;
      return hasPlainArguments(node, PLAIN_FILTERS.get(node.name)) || isPlainRounding(node);
    case 'test':
      return isPlainExpression(node.input) && hasPlainArguments(node, PLAIN_TESTS.get(node.name));
    default:
      return false;
  }
}

function hasPlainArguments(
  { positional, named, spread, namedSpread }: Arguments,
  most: number | undefined,
): boolean {
  if (most === undefined || positional.length > most) return false;
  return (
    named.length === 0 &&
    spread === undefined &&
    namedSpread === undefined &&
    positional.every(isPlainExpression)
  );
}

/** `round(2)`: with a large integer and many places it would be expensive. */
function isPlainRounding(node: Expression & { readonly kind: 'filter' }): boolean {
  const [places] = node.positional;
  return (
    node.name === 'round' &&
    hasPlainArguments(node, 1) &&
    places?.kind === 'constant' &&
    typeof places.value === 'number' &&
    places.value <= MAX_PLACES
  );
}
