import { locate, renderFault, type Fault } from '../errors.js';
import { FILTERS } from '../filters/filters.js';
import { DICT_METHODS } from '../methods/dictMethods.js';
import { getAttribute, getItem, slice } from '../values/attributes.js';
import { contains, equals, ordered } from '../values/compare.js';
import { Dict } from '../values/dict.js';
import { softText, htmlOf } from '../values/escape.js';
import { BINARY_OPERATORS, negate, positive } from '../values/operators.js';
import { str } from '../values/text.js';
import { isTrue } from '../values/truth.js';
import { Markup, Tuple, Undefined, type Value } from '../values/value.js';
import type {
  Attribute,
  Compare,
  CompareOperator,
  Concat,
  Conditional,
  Expression,
  FilterCall,
  Item,
  Logical,
  Slice,
  TestCall,
  Unary,
  Binary,
} from './ast.js';
import { compileArguments, compileCall } from './compileCall.js';
import { filterHint, spellingHint } from './hints.js';
import { PREDICATES } from './predicates.js';
import type { Evaluate, Frame } from './runtime.js';
import { readName, type Scope } from './scope.js';
import { syntaxFault } from './syntaxFault.js';
import { readsNames } from './walk.js';

/** Compiles an expression to a function of a frame. */
export function compileExpression(node: Expression, scope: Scope): Evaluate {
  const evaluate = compileNode(node, scope);
  return scope.strict && LOOKUPS.has(node.kind) ? requireDefined(evaluate, node.offset) : evaluate;
}

/** Expressions whose value may be missing. */
const LOOKUPS: ReadonlySet<Expression['kind']> = new Set(['name', 'attribute', 'item']);

function lenient(scope: Scope): Scope {
  return scope.strict ? { ...scope, strict: false } : scope;
}

function requireDefined(evaluate: Evaluate, offset: number): Evaluate {
  return (frame) => {
    const value = evaluate(frame);
    if (value instanceof Undefined) throw locate(value.fault(), offset) as Fault;
    return value;
  };
}

function compileNode(node: Expression, scope: Scope): Evaluate {
  switch (node.kind) {
    case 'constant': {
      const { value } = node;
      return () => value;
    }
    case 'name':
      return readName(node.name, scope);
    case 'list':
      return compileItems(node.items, scope);
    case 'tuple': {
      const items = compileItems(node.items, scope);
      return (frame) => new Tuple(items(frame));
    }
    case 'dict':
      return compileDict(node.entries, scope);
    case 'unary':
      return compileUnary(node, scope);
    case 'binary':
      return compileBinary(node, scope);
    case 'logical':
      return compileLogical(node, scope);
    case 'concat':
      return compileConcat(node, scope);
    case 'compare':
      return compileCompare(node, scope);
    case 'attribute':
      return compileAttribute(node, scope);
    case 'item':
      return compileItem(node, scope);
    case 'slice':
      return compileSlice(node, scope);
    case 'call':
      return compileCall(node, scope, compileExpression);
    case 'filter':
      return compileFilter(node, scope);
    case 'test':
      return compileTest(node, scope);
    case 'conditional':
      return compileConditional(node, scope);
  }
}

/** The truth value of an expression, avoiding an intermediate Python bool where possible. */
export function compileCondition(node: Expression, scope: Scope): (frame: Frame) => boolean {
  const evaluate = compileExpression(node, scope);
  return (frame) => {
    const value = evaluate(frame);
    return typeof value === 'boolean' ? value : isTrue(value);
  };
}

function compileItems(nodes: readonly Expression[], scope: Scope): (frame: Frame) => Value[] {
  const items = nodes.map((item) => compileExpression(item, scope));
  return (frame) => {
    frame.run.budget.allocate(items.length + 1);
    return items.map((item) => item(frame));
  };
}

function compileDict(nodes: readonly (readonly [Expression, Expression])[], scope: Scope): Evaluate {
  const entries = nodes.map(
    ([key, value]) => [compileExpression(key, scope), compileExpression(value, scope)] as const,
  );
  return (frame) => {
    frame.run.budget.allocate(entries.length + 1);
    const dict = Dict.of();
    for (const [key, value] of entries) dict.set(key(frame), value(frame));
    return dict;
  };
}

function compileUnary({ operator, operand, offset }: Unary, scope: Scope): Evaluate {
  if (operator === 'not') {
    const condition = compileCondition(operand, scope);
    return (frame) => {
      frame.run.budget.step();
      return !condition(frame);
    };
  }
  const evaluate = compileExpression(operand, scope);
  const apply = operator === '-' ? negate : positive;
  return (frame) => {
    frame.run.budget.step();
    const value = evaluate(frame);
    try {
      return apply(value);
    } catch (error) {
      throw locate(error, offset);
    }
  };
}

function compileBinary({ operator, left, right, offset }: Binary, scope: Scope): Evaluate {
  const [a, b] = [compileExpression(left, scope), compileExpression(right, scope)];
  const apply = BINARY_OPERATORS[operator];
  return (frame) => {
    const { budget } = frame.run;
    budget.step();
    const [x, y] = [a(frame), b(frame)];
    try {
      return apply(x, y, budget);
    } catch (error) {
      throw locate(error, offset);
    }
  };
}

function compileLogical({ operator, left, right }: Logical, scope: Scope): Evaluate {
  const [a, b] = [compileExpression(left, scope), compileExpression(right, scope)];
  if (operator === 'and') {
    return (frame) => {
      frame.run.budget.step();
      const value = a(frame);
      return isTrue(value) ? b(frame) : value;
    };
  }
  return (frame) => {
    frame.run.budget.step();
    const value = a(frame);
    return isTrue(value) ? value : b(frame);
  };
}

/**
 * `a ~ b`: with autoescape, one markup operand makes the result markup and the others are escaped. Jinja2 joins constants
 * while it compiles, where markup is text like any other.
 */
function compileConcat(node: Concat, scope: Scope): Evaluate {
  const { parts, offset } = node;
  const pieces = parts.map((part) => compileExpression(part, scope));
  const escaping = scope.escaping === true && readsNames(node);
  return (frame) => {
    const { budget } = frame.run;
    const values = pieces.map((piece) => piece(frame));
    try {
      const markup = escaping && values.some((value) => value instanceof Markup);
      let text = '';
      for (const value of values)
        text += markup ? htmlOf(softText(value, budget), budget) : str(value, budget);
      budget.allocate(text.length);
      return markup ? new Markup(text) : text;
    } catch (error) {
      throw locate(error, offset);
    }
  };
}

function compileCompare({ first, rest, offset }: Compare, scope: Scope): Evaluate {
  const start = compileExpression(first, scope);
  const steps = rest.map(({ operator, operand }) => ({
    holds: comparison(operator),
    operand: compileExpression(operand, scope),
  }));
  return (frame) => {
    const { budget } = frame.run;
    let left = start(frame);
    for (const { holds, operand } of steps) {
      budget.step();
      const right = operand(frame);
      try {
        if (!holds(left, right, budget)) return false;
      } catch (error) {
        throw locate(error, offset);
      }
      left = right;
    }
    return true;
  };
}

type Comparison = (a: Value, b: Value, budget: Frame['run']['budget']) => boolean;

function comparison(operator: CompareOperator): Comparison {
  switch (operator) {
    case '==':
      return equals;
    case '!=':
      return (a, b, budget) => !equals(a, b, budget);
    case 'in':
      return (a, b, budget) => contains(b, a, budget);
    case 'not in':
      return (a, b, budget) => !contains(b, a, budget);
    default:
      return (a, b, budget) => ordered(operator, a, b, budget);
  }
}

function compileAttribute({ target, name, offset }: Attribute, scope: Scope): Evaluate {
  const object = compileExpression(target, scope);
  const isItem = !DICT_METHODS.has(name);
  return (frame) => {
    const { budget } = frame.run;
    budget.step();
    const value = object(frame);
    // Most reads are of this kind: only methods come before the items of a dict.
    if (isItem && value instanceof Dict) {
      const item = value.get(name);
      if (item !== undefined) return item;
    }
    try {
      return getAttribute(value, name, budget);
    } catch (error) {
      throw locate(error, offset);
    }
  };
}

function compileItem({ target, key, offset }: Item, scope: Scope): Evaluate {
  const object = compileExpression(target, scope);
  const keyOf = compileExpression(key, scope);
  return (frame) => {
    const { budget } = frame.run;
    budget.step();
    const value = object(frame);
    const at = keyOf(frame);
    try {
      return getItem(value, at, budget);
    } catch (error) {
      throw locate(error, offset);
    }
  };
}

function compileSlice({ target, start, stop, step, offset }: Slice, scope: Scope): Evaluate {
  const object = compileExpression(target, scope);
  const bound = (node: Expression | undefined): Evaluate =>
    node === undefined ? () => null : compileExpression(node, scope);
  const [from, to, by] = [bound(start), bound(stop), bound(step)];
  return (frame) => {
    const value = object(frame);
    const [a, b, c] = [from(frame), to(frame), by(frame)];
    try {
      return slice(value, a, b, c, frame.run.budget);
    } catch (error) {
      throw locate(error, offset);
    }
  };
}

/** A filter on its input expression. */
function compileFilter(node: FilterCall, scope: Scope): Evaluate {
  if (node.input === undefined) throw new Error('a filter without input belongs to a block');
  const isDefault = node.name === 'default' || node.name === 'd';
  const input = compileExpression(node.input, isDefault ? lenient(scope) : scope);
  return compileFilterOn(node, input, scope);
}

/** The filters of `{% filter %}` and `{% set x | f %}`, applied to the block's output. */
export function compileBlockFilter(node: FilterCall, printed: Evaluate, scope: Scope): Evaluate {
  const { input } = node;
  const inner = input?.kind === 'filter' ? compileBlockFilter(input, printed, scope) : printed;
  return compileFilterOn(node, inner, scope);
}

function compileFilterOn(node: FilterCall, input: Evaluate, scope: Scope): Evaluate {
  const { name, offset } = node;
  const filter = FILTERS.get(name);
  const args = compileArguments(node, scope, compileExpression);
  if (filter === undefined)
    return unknown(`No filter named '${name}'.`, () => filterHint(name, FILTERS.keys()), offset, scope);
  return (frame) => {
    const { run } = frame;
    run.budget.step();
    const value = input(frame);
    const given = args(frame);
    try {
      return filter(value, given, run);
    } catch (error) {
      throw locate(error, offset);
    }
  };
}

function compileTest(node: TestCall, scope: Scope): Evaluate {
  const { name, offset } = node;
  const predicate = PREDICATES.get(name);
  const asks = name === 'defined' || name === 'undefined';
  const input = compileExpression(node.input, asks ? lenient(scope) : scope);
  const args = compileArguments(node, scope, compileExpression);
  if (predicate === undefined) {
    return unknown(`No test named '${name}'.`, () => spellingHint(name, PREDICATES.keys()), offset, scope);
  }
  return (frame) => {
    const { run } = frame;
    run.budget.step();
    const value = input(frame);
    const given = args(frame);
    try {
      return predicate(value, given, run);
    } catch (error) {
      throw locate(error, offset);
    }
  };
}

/**
 * An unknown filter or test: an error now or, within a condition, when it is evaluated.
 * @param hint takes time, and a template may have thousands of them that are never evaluated
 */
function unknown(message: string, hint: () => string | undefined, offset: number, scope: Scope): Evaluate {
  if (!scope.soft) throw syntaxFault(message, offset, hint());
  return () => {
    throw locate(renderFault(message, hint()), offset) as Fault;
  };
}

function compileConditional({ test, then, otherwise }: Conditional, scope: Scope): Evaluate {
  const soft: Scope = { ...scope, soft: true };
  const condition = compileCondition(test, soft);
  const whenTrue = compileExpression(then, soft);
  const absent = new Undefined(
    'the inline if-expression evaluated to false and no else section was defined.',
  );
  const whenFalse = otherwise === undefined ? () => absent : compileExpression(otherwise, soft);
  return (frame) => {
    frame.run.budget.step();
    return condition(frame) ? whenTrue(frame) : whenFalse(frame);
  };
}
