import type { Budget } from '../limits.js';
import { renderFault, type Fault } from '../errors.js';
import { percentFormat } from '../format/percent.js';
import { Decimal } from './decimal.js';
import { contextual, negated } from './decimalArithmetic.js';
import { decimalArithmetic } from './decimalOperators.js';
import { htmlOf } from './escape.js';
import {
  addInts,
  asInteger,
  asNumber,
  divideInts,
  floorDivideFloats,
  floorDivideInts,
  moduloFloats,
  moduloInts,
  multiplyInts,
  powFloats,
  powInts,
  subtractInts,
} from './numbers.js';
import { isList, isText, Markup, textOf, toFloat, Tuple, typeName, Undefined, type Value } from './value.js';

export type BinaryOperator = '+' | '-' | '*' | '/' | '//' | '%' | '**';

/** Python's binary operators. @throws Fault where Python raises. */
export const BINARY_OPERATORS: Readonly<
  Record<BinaryOperator, (a: Value, b: Value, budget: Budget) => Value>
> = {
  '+': add,
  '-': (a, b, budget) => arithmetic('-', a, b, budget, subtractInts, (x, y) => toFloat(x - y)),
  '*': multiply,
  '/': (a, b, budget) => arithmetic('/', a, b, budget, divideInts, divideFloats),
  '//': (a, b, budget) => arithmetic('//', a, b, budget, floorDivideInts, floorDivideFloats),
  '%': (a, b, budget) =>
    isText(a)
      ? percentFormat(a, b, budget)
      : arithmetic('%', a, b, budget, moduloInts, (x, y) => toFloat(moduloFloats(x, y))),
  '**': (a, b, budget) => arithmetic('**', a, b, budget, powInts, powFloats),
};

type IntOperation = (x: number | bigint, y: number | bigint) => Value;
type FloatOperation = (x: number, y: number) => Value;

function arithmetic(
  operator: string,
  a: Value,
  b: Value,
  budget: Budget,
  ints: IntOperation,
  floats: FloatOperation,
): Value {
  const [m, n] = [asInteger(a), asInteger(b)];
  if (m !== undefined && n !== undefined) return ints(m, n);
  if (a instanceof Decimal || b instanceof Decimal) {
    const result = decimalArithmetic(operator, a, b, budget);
    if (result !== undefined) return result;
  }
  const [x, y] = [asNumber(a), asNumber(b)];
  if (x !== undefined && y !== undefined) return floats(x, y);
  throw unsupported(operator, a, b);
}

function unsupported(operator: string, a: Value, b: Value): Fault {
  if (a instanceof Undefined) return a.fault();
  if (b instanceof Undefined) return b.fault();
  const name = operator === '**' ? '** or pow()' : operator;
  return renderFault(`unsupported operand type(s) for ${name}: '${typeName(a)}' and '${typeName(b)}'`);
}

function divideFloats(x: number, y: number): Value {
  if (y === 0) throw renderFault('float division by zero');
  return toFloat(x / y);
}

/** Python's `a + b`. */
export function add(a: Value, b: Value, budget: Budget): Value {
  if (typeof a === 'number' && typeof b === 'number') {
    const sum = a + b;
    if (Number.isSafeInteger(sum) && Number.isInteger(a) && Number.isInteger(b)) return sum;
  } else if (isText(a) && isText(b)) {
    budget.allocate(textOf(a).length + textOf(b).length);
    if (typeof a === 'string' && typeof b === 'string') return a + b;
    return new Markup(htmlOf(a, budget) + htmlOf(b, budget));
  } else if (isList(a) && isList(b)) {
    budget.allocate(a.length + b.length);
    return [...a, ...b];
  } else if (a instanceof Tuple && b instanceof Tuple) {
    budget.allocate(a.items.length + b.items.length);
    return new Tuple([...a.items, ...b.items]);
  }
  if (isText(a) && !(b instanceof Undefined)) {
    throw renderFault(
      `can only concatenate str (not "${typeName(b)}") to str`,
      'use ~ to join text with other values',
    );
  }
  if (isList(a) && !(b instanceof Undefined))
    throw renderFault(`can only concatenate list (not "${typeName(b)}") to list`);
  return arithmetic('+', a, b, budget, addInts, (x, y) => toFloat(x + y));
}

function multiply(a: Value, b: Value, budget: Budget): Value {
  const [m, n] = [asInteger(a), asInteger(b)];
  if (m !== undefined && n !== undefined) return multiplyInts(m, n);
  const repeated =
    m !== undefined ? repeat(b, m, budget) : n !== undefined ? repeat(a, n, budget) : undefined;
  return repeated ?? arithmetic('*', a, b, budget, multiplyInts, (x, y) => toFloat(x * y));
}

/** `sequence * times`; undefined if the value is not a sequence. */
function repeat(value: Value, times: number | bigint, budget: Budget): Value | undefined {
  const count = Math.max(0, Number(times));
  if (isText(value)) {
    const text = textOf(value);
    if (text.length > 0) budget.allocate(text.length * count);
    const repeated = text.length === 0 ? '' : text.repeat(count);
    return value instanceof Markup ? new Markup(repeated) : repeated;
  }
  const items = isList(value) ? value : value instanceof Tuple ? value.items : undefined;
  if (items === undefined) return undefined;
  const repeated: Value[] = [];
  if (items.length > 0) {
    budget.allocate(items.length * count);
    for (let i = 0; i < count; i++) for (const item of items) repeated.push(item);
  }
  return isList(value) ? repeated : new Tuple(repeated);
}

/** Python's `-value` and `+value`. */
export function negate(value: Value): Value {
  const integer = asInteger(value);
  if (integer !== undefined) return subtractInts(0, integer);
  const number = asNumber(value);
  if (number !== undefined) return toFloat(-number);
  if (value instanceof Decimal) return negated(value);
  throw badUnary('-', value);
}

export function positive(value: Value): Value {
  const integer = asInteger(value);
  if (integer !== undefined) return integer;
  if (asNumber(value) !== undefined) return value;
  if (value instanceof Decimal) return contextual(value);
  throw badUnary('+', value);
}

function badUnary(operator: string, value: Value): Fault {
  if (value instanceof Undefined) return value.fault();
  return renderFault(`bad operand type for unary ${operator}: '${typeName(value)}'`);
}
