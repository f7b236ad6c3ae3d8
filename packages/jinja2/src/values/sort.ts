import { renderFault } from '../errors.js';
import type { Budget } from '../limits.js';
import { ordered } from './compare.js';
import { asInteger } from './numbers.js';
import { isText, typeName } from './value.js';
import type { Value } from './value.js';

export interface SortOptions {
  readonly reverse?: boolean;
  /** The sort key of an item; defaults to the item itself. */
  readonly key?: (item: Value) => Value;
}

/** A sorted copy, like Python's `sorted`: stable, also in reverse. @throws Fault for items without an order. */
export function sortValues(
  items: readonly Value[],
  budget: Budget,
  { reverse = false, key }: SortOptions = {},
): Value[] {
  budget.allocate(items.length);
  const keyed = items.map((item) => ({ item, key: key === undefined ? item : key(item) }));
  const before = (a: Value, b: Value) => {
    budget.step();
    return ordered('<', a, b, budget);
  };
  keyed.sort((a, b) => {
    const [x, y] = reverse ? [b, a] : [a, b];
    if (before(x.key, y.key)) return -1;
    return before(y.key, x.key) ? 1 : 0;
  });
  return keyed.map(({ item }) => item);
}

/** The argument `reverse`: an int or bool. It is the first one of the filter `sort`, where a field's name is often meant. */
export function reverseArgument(value: Value): boolean {
  const integer = asInteger(value);
  if (integer !== undefined) return Number(integer) !== 0;
  const hint = isText(value) ? "write sort(attribute='name') to sort by a field" : undefined;
  throw renderFault(`'${typeName(value)}' object cannot be interpreted as an integer`, hint);
}
