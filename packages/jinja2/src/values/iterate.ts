import type { Budget } from '../limits.js';
import { renderFault } from '../errors.js';
import { BoundMethod } from './callable.js';
import { codePointLength, codePoints } from './codePoints.js';
import { Dict, DictView } from './dict.js';
import {
  isList,
  isText,
  PyIterator,
  PyObject,
  Range,
  textOf,
  Tuple,
  typeName,
  Undefined,
  type Value,
} from './value.js';

/** The items of any iterable, without building a list where possible; undefined for other values. */
export function tryIterate(value: Value, budget: Budget): Iterable<Value> | undefined {
  if (isList(value)) return value;
  if (value instanceof Tuple) return value.items;
  if (value instanceof PyIterator) return value;
  if (isText(value)) {
    const text = textOf(value);
    budget.allocate(text.length);
    return codePoints(text);
  }
  if (value instanceof Range) return rangeItems(value);
  if (value instanceof DictView) {
    budget.allocate(value.dict.size());
    return value.items();
  }
  if (value instanceof Dict) {
    budget.allocate(value.size());
    return value.keys();
  }
  return value instanceof Undefined ? [] : undefined;
}

/** The items of an iterable. @throws Fault when it isn't one. */
export function iterate(value: Value, budget: Budget): Iterable<Value> {
  const items = tryIterate(value, budget);
  if (items === undefined)
    throw renderFault(`'${typeName(value)}' object is not iterable`, methodHint(value));
  return items;
}

/** A column named `items` is hidden by the method. */
function methodHint(value: Value): string | undefined {
  if (!(value instanceof BoundMethod)) return undefined;
  return "this is a method: call it with (), or write x['name'] for a field of that name";
}

/** A new list of the items: Python's `list(value)`. */
export function toList(value: Value, budget: Budget): Value[] {
  if (isList(value)) {
    budget.allocate(value.length);
    return value.slice();
  }
  const items: Value[] = [];
  for (const item of iterate(value, budget)) {
    budget.allocate(1);
    items.push(item);
  }
  return items;
}

/** The items, read-only: the list itself if it is one. */
export function itemsOf(value: Value, budget: Budget): readonly Value[] {
  if (isList(value)) return value;
  return value instanceof Tuple ? value.items : toList(value, budget);
}

function* rangeItems(range: Range): Iterable<Value> {
  for (let i = 0; i < range.length; i++) yield range.at(i);
}

/** Python's `len(value)`, or undefined where Python has none. */
export function tryLength(value: Value): number | undefined {
  if (isList(value)) return value.length;
  if (isText(value)) return codePointLength(textOf(value));
  if (value instanceof PyObject) return value.size?.();
  return undefined;
}

/** Python's `len(value)`. @throws Fault when it has none. */
export function lengthOf(value: Value): number {
  const length = tryLength(value);
  if (length === undefined)
    throw renderFault(`object of type '${typeName(value)}' has no len()`, methodHint(value));
  return length;
}
