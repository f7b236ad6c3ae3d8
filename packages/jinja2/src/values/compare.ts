import type { Budget } from '../limits.js';
import { limitFault, renderFault } from '../errors.js';
import { Decimal } from './decimal.js';
import { compareExactly } from './decimalOperators.js';
import { Dict, DictView, sequenceItems } from './dict.js';
import { iterate, tryIterate } from './iterate.js';
import { asNumber } from './numbers.js';
import { MAX_DATA_DEPTH } from './text.js';
import { isList, isText, Range, textOf, Tuple, typeName, Undefined, type Value } from './value.js';

/** Python's `a == b`. */
export function equals(a: Value, b: Value, budget: Budget, depth = 0): boolean {
  if (a === b) return !(typeof a === 'number' && Number.isNaN(a));
  if (isText(a)) return isText(b) && textOf(a) === textOf(b);
  const [x, y] = [numberOf(a), numberOf(b)];
  if (x !== undefined && y !== undefined) return x == y;
  if (a instanceof Decimal || b instanceof Decimal) return compareExactly(a, b, budget) === 0;
  if (x !== undefined || y !== undefined) return false;
  if (a === null || b === null) return false;
  if (depth > MAX_DATA_DEPTH) throw limitFault('the values nest too deeply to be compared');
  return equalObjects(a, b, budget, depth + 1);
}

/** A number that JavaScript's `==` and `<` compare exactly, including bigint with number. */
function numberOf(value: Value): number | bigint | undefined {
  return typeof value === 'bigint' ? value : asNumber(value);
}

function equalObjects(a: Value, b: Value, budget: Budget, depth: number): boolean {
  if (isList(a) !== isList(b)) return false;
  const [x, y] = [sequenceItems(a), sequenceItems(b)];
  if (x && y) {
    budget.work(1);
    return (
      x.length === y.length &&
      x.every((item, i) => (budget.work(1), equals(item, y[i] ?? null, budget, depth)))
    );
  }
  if (a instanceof Dict) return b instanceof Dict && equalDicts(a, b, budget, depth);
  if (a instanceof Range && b instanceof Range) {
    return (
      a.length === b.length &&
      (a.length === 0 || (a.start === b.start && (a.length === 1 || a.step === b.step)))
    );
  }
  if (a instanceof DictView && b instanceof DictView && a.part === b.part && a.part !== 'values') {
    return equalDicts(a.dict, b.dict, budget, depth);
  }
  return a instanceof Undefined && b instanceof Undefined;
}

function equalDicts(a: Value, b: Value, budget: Budget, depth: number): boolean {
  if (!(a instanceof Dict) || !(b instanceof Dict) || a.size() !== b.size()) return false;
  budget.work(a.size());
  return a.entries().every(([key, value]) => {
    const other = b.get(key);
    return other !== undefined && equals(value, other, budget, depth);
  });
}

export type Ordering = '<' | '<=' | '>' | '>=';

/** Python's `a < b` and the like. @throws Fault for values without an order. */
export function ordered(operator: Ordering, a: Value, b: Value, budget: Budget, depth = 0): boolean {
  const [x, y] = [numberOf(a), numberOf(b)];
  if (x !== undefined && y !== undefined) return holds(operator, x, y);
  if (a instanceof Decimal || b instanceof Decimal) {
    const order = compareExactly(a, b, budget);
    if (order !== undefined) return holds(operator, order, 0);
  }
  if (isText(a) && isText(b)) return holds(operator, compareText(textOf(a), textOf(b)), 0);
  if ((isList(a) && isList(b)) || (a instanceof Tuple && b instanceof Tuple)) {
    if (depth > MAX_DATA_DEPTH) throw limitFault('the values nest too deeply to be compared');
    return orderedSequences(operator, sequenceItems(a) ?? [], sequenceItems(b) ?? [], budget, depth + 1);
  }
  const undefinedOne = a instanceof Undefined ? a : b;
  if (undefinedOne instanceof Undefined) throw undefinedOne.fault();
  throw renderFault(`'${operator}' not supported between instances of '${typeName(a)}' and '${typeName(b)}'`);
}

function orderedSequences(
  operator: Ordering,
  a: readonly Value[],
  b: readonly Value[],
  budget: Budget,
  depth: number,
): boolean {
  for (let i = 0; i < a.length && i < b.length; i++) {
    budget.work(1);
    const [x, y] = [a[i] ?? null, b[i] ?? null];
    if (x !== y && !equals(x, y, budget, depth)) return ordered(operator, x, y, budget, depth);
  }
  return holds(operator, a.length, b.length);
}

function holds(operator: Ordering, x: number | bigint, y: number | bigint): boolean {
  switch (operator) {
    case '<':
      return x < y;
    case '<=':
      return x <= y;
    case '>':
      return x > y;
    case '>=':
      return x >= y;
  }
}

/** By code points, as Python orders strings; UTF-16 units would put emoji before U+FFFD. */
export function compareText(a: string, b: string): number {
  if (a === b) return 0;
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const [x, y] = [a.charCodeAt(i), b.charCodeAt(i)];
    if (x === y) continue;
    const [surrogateX, surrogateY] = [(x & 0xf800) === 0xd800, (y & 0xf800) === 0xd800];
    return surrogateX === surrogateY ? x - y : surrogateX ? 1 : -1;
  }
  return a.length - b.length;
}

/** Python's `item in container`. */
export function contains(container: Value, item: Value, budget: Budget): boolean {
  if (isText(container)) {
    if (!isText(item)) {
      throw renderFault(`'in <string>' requires string as left operand, not ${typeName(item)}`);
    }
    budget.work(textOf(container).length);
    budget.search(textOf(container), textOf(item));
    return textOf(container).includes(textOf(item));
  }
  if (container instanceof Dict) return container.has(item);
  if (container instanceof DictView && container.part === 'keys') return container.dict.has(item);
  if (tryIterate(container, budget) === undefined) {
    throw renderFault(`argument of type '${typeName(container)}' is not iterable`);
  }
  for (const candidate of iterate(container, budget)) {
    budget.step();
    if (candidate === item || equals(candidate, item, budget)) return true;
  }
  return false;
}
