import type { Budget } from '../limits.js';
import { Callable } from '../values/callable.js';
import type { CallArguments, Evaluation } from '../values/callable.js';
import { bindArguments } from '../values/callable.js';
import { contains, equals, ordered, type Ordering } from '../values/compare.js';
import { Decimal } from '../values/decimal.js';
import { Dict, hashKey } from '../values/dict.js';
import { tryIterate, tryLength } from '../values/iterate.js';
import { BINARY_OPERATORS } from '../values/operators.js';
import { isLower, isUpper } from '../values/strings.js';
import { str } from '../values/text.js';
import {
  isFloat,
  isInt,
  isList,
  isText,
  Markup,
  Range,
  textOf,
  Tuple,
  Undefined,
  type Value,
} from '../values/value.js';

/** The predicate of `x is name`, which Jinja2 calls a test. */
export type Predicate = (input: Value, args: CallArguments, evaluation: Evaluation) => boolean;

function simple(test: (input: Value, evaluation: Evaluation) => boolean): (name: string) => Predicate {
  return (name) => {
    const signature = { name, parameters: [], required: 0 };
    return (input, args, evaluation) => {
      bindArguments(signature, args);
      return test(input, evaluation);
    };
  };
}

function withOperand(
  test: (input: Value, operand: Value, evaluation: Evaluation) => boolean,
  parameter = 'other',
): (name: string) => Predicate {
  return (name) => {
    const signature = { name, parameters: [parameter], required: 1 };
    return (input, args, evaluation) => {
      const [operand = null] = bindArguments(signature, args);
      return test(input, operand, evaluation);
    };
  };
}

const compared = (operator: Ordering) => withOperand((a, b, { budget }) => ordered(operator, a, b, budget));
const equal = withOperand((a, b, { budget }) => equals(a, b, budget));
const unequal = withOperand((a, b, { budget }) => !equals(a, b, budget));

function remainderIs(input: Value, divisor: Value, remainder: number, { budget }: Evaluation): boolean {
  return equals(BINARY_OPERATORS['%'](input, divisor, budget), remainder, budget);
}

/** The name that `is filter` looks up: only text can match, but an unhashable value is an error. */
function nameOf(value: Value): string {
  hashKey(value);
  return isText(value) ? textOf(value) : '';
}

/** The text of a value that is looked at as a whole. */
function scanned(value: Value, budget: Budget): string {
  const text = str(value, budget);
  budget.scan(text);
  return text;
}

function isSequence(value: Value): boolean {
  return (
    isText(value) ||
    isList(value) ||
    value instanceof Dict ||
    value instanceof Tuple ||
    value instanceof Range ||
    value instanceof Undefined
  );
}

const DEFINITIONS: Readonly<Record<string, (name: string) => Predicate>> = {
  defined: simple((value) => !(value instanceof Undefined)),
  undefined: simple((value) => value instanceof Undefined),
  none: simple((value) => value === null),
  boolean: simple((value) => typeof value === 'boolean'),
  true: simple((value) => value === true),
  false: simple((value) => value === false),
  integer: simple((value) => isInt(value) && typeof value !== 'boolean'),
  float: simple(isFloat),
  number: simple((value) => isInt(value) || isFloat(value) || value instanceof Decimal),
  string: simple(isText),
  mapping: simple((value) => value instanceof Dict),
  sequence: simple((value) => isSequence(value) && tryLength(value) !== undefined),
  iterable: simple((value, { budget }) => tryIterate(value, budget) !== undefined),
  callable: simple((value) => value instanceof Callable || value instanceof Undefined),
  escaped: simple((value) => value instanceof Markup),
  lower: simple((value, { budget }) => isLower(scanned(value, budget))),
  upper: simple((value, { budget }) => isUpper(scanned(value, budget))),
  odd: simple((value, evaluation) => remainderIs(value, 2, 1, evaluation)),
  even: simple((value, evaluation) => remainderIs(value, 2, 0, evaluation)),
  divisibleby: withOperand((value, divisor, evaluation) => remainderIs(value, divisor, 0, evaluation), 'num'),
  filter: simple((value, evaluation) => evaluation.hasFilter(nameOf(value))),
  test: simple((value, evaluation) => evaluation.hasTest(nameOf(value))),
  sameas: withOperand((a, b) => a === b),
  in: withOperand((item, container, { budget }) => contains(container, item, budget), 'seq'),
  '==': equal,
  eq: equal,
  equalto: equal,
  '!=': unequal,
  ne: unequal,
  '>': compared('>'),
  gt: compared('>'),
  greaterthan: compared('>'),
  '>=': compared('>='),
  ge: compared('>='),
  '<': compared('<'),
  lt: compared('<'),
  lessthan: compared('<'),
  '<=': compared('<='),
  le: compared('<='),
};

/** Every test of Jinja2 by name. */
export const PREDICATES: ReadonlyMap<string, Predicate> = new Map(
  Object.entries(DEFINITIONS).map(([name, define]) => [name, define(name)]),
);
