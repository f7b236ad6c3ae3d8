import type { Budget } from '../limits.js';
import { renderFault } from '../errors.js';
import { methodOf } from '../methods/methods.js';
import { BoundMethod } from './callable.js';
import { codePointLength, sliceCodePoints } from './codePoints.js';
import { Decimal } from './decimal.js';
import { Dict, isHashable } from './dict.js';
import { asInteger, indexArgument } from './numbers.js';
import { repr } from './text.js';
import {
  Float,
  isList,
  isText,
  Markup,
  PyObject,
  Range,
  textOf,
  toFloat,
  Tuple,
  typeName,
  Undefined,
  type Value,
} from './value.js';

function ownAttribute(target: Value, name: string): Value | undefined {
  if (target instanceof Undefined) throw target.fault();
  if (target instanceof PyObject) {
    const value = target.attribute?.(name);
    if (value !== undefined) return value;
  }
  const number = numberAttribute(target, name);
  if (number !== undefined) return number;
  const method = methodOf(target, name);
  return method === undefined ? undefined : new BoundMethod(target, method);
}

/** Attributes of Python's numbers. */
function numberAttribute(target: Value, name: string): Value | undefined {
  if (target instanceof Decimal) {
    if (name === 'real') return target;
    return name === 'imag' ? Decimal.of(0) : undefined;
  }
  const integer = asInteger(target);
  const number = integer ?? (target instanceof Float || typeof target === 'number' ? target : undefined);
  if (number === undefined) return undefined;
  if (name === 'real') return number;
  if (name === 'imag') return integer === undefined ? toFloat(0) : 0;
  if (integer === undefined) return undefined;
  if (name === 'numerator') return integer;
  return name === 'denominator' ? 1 : undefined;
}

/** Whether a value has an attribute (rather than an item) of that name. */
export function hasAttribute(target: Value, name: string): boolean {
  return ownAttribute(target, name) !== undefined;
}

/** Jinja2's `target.name`: an attribute, else an item, else undefined. */
export function getAttribute(target: Value, name: string, budget: Budget): Value {
  const own = ownAttribute(target, name);
  if (own !== undefined) return own;
  if (target instanceof Dict) {
    const item = target.get(name);
    if (item !== undefined) return item;
  }
  return missing(target, name, budget);
}

/** Jinja2's `target[key]`: an item, else (for names) an attribute, else undefined. */
export function getItem(target: Value, key: Value, budget: Budget): Value {
  const item = itemOf(target, key, budget);
  if (item !== undefined) return item;
  if (isText(key)) {
    const own = ownAttribute(target, textOf(key));
    if (own !== undefined) return own;
  }
  return missing(target, key, budget);
}

function itemOf(target: Value, key: Value, budget: Budget): Value | undefined {
  if (target instanceof Undefined) throw target.fault();
  if (target instanceof Dict) return isHashable(key) ? target.get(key) : undefined;
  const index = asInteger(key);
  return index === undefined ? undefined : itemAt(target, Number(index), budget);
}

/** The item at an index counted from either end, or undefined outside. */
function itemAt(target: Value, index: number, budget: Budget): Value | undefined {
  if (isList(target)) return target[index < 0 ? index + target.length : index];
  if (target instanceof Tuple) return target.items[index < 0 ? index + target.items.length : index];
  if (target instanceof Range) {
    const at = index < 0 ? index + target.length : index;
    return at >= 0 && at < target.length ? target.at(at) : undefined;
  }
  if (!isText(target)) return undefined;
  const text = textOf(target);
  budget.scan(text);
  const at = index < 0 ? index + codePointLength(text) : index;
  const character = at < 0 ? '' : sliceCodePoints(text, at, at + 1);
  if (character === '') return undefined;
  return target instanceof Markup ? new Markup(character) : character;
}

export const DATE_HINT = "dates are text here: use | format_date or | date('%d.%m.%Y')";

/** The undefined value for a missing attribute or item; its message names it. */
function missing(target: Value, name: Value, budget: Budget): Undefined {
  const object = target === null ? 'None' : `${typeName(target)} object`;
  if (typeof name === 'string') {
    const hint = name === 'strftime' ? DATE_HINT : undefined;
    return new Undefined(`'${object}' has no attribute '${name}'`, hint);
  }
  return new Undefined(`${object} has no element ${repr(name, budget)}`);
}

/** Python's `target[start:stop:step]`. @throws Fault for values without slices. */
export function slice(target: Value, start: Value, stop: Value, step: Value, budget: Budget): Value {
  if (target instanceof Undefined) throw target.fault();
  if (isText(target)) {
    const text = textOf(target);
    const [from, to, by] = bounds(start, stop, step, codePointLength(text));
    budget.allocate(text.length);
    const part =
      by === 1
        ? sliceCodePoints(text, from, Math.max(from, to))
        : pick(Array.from(text), from, to, by).join('');
    return target instanceof Markup ? new Markup(part) : part;
  }
  if (isList(target) || target instanceof Tuple) {
    const items = isList(target) ? target : target.items;
    const [from, to, by] = bounds(start, stop, step, items.length);
    const picked = pick(items, from, to, by);
    budget.allocate(picked.length);
    return isList(target) ? picked : new Tuple(picked);
  }
  if (target instanceof Range) {
    const [from, to, by] = bounds(start, stop, step, target.length);
    return new Range(target.at(from), target.at(to), target.step * by);
  }
  if (target instanceof Dict) throw renderFault("unhashable type: 'slice'");
  throw renderFault(`'${typeName(target)}' object is not subscriptable`);
}

function pick<T>(items: readonly T[], from: number, to: number, by: number): T[] {
  if (by === 1) return items.slice(from, Math.max(from, to));
  const picked: T[] = [];
  for (let i = from; by > 0 ? i < to : i > to; i += by) {
    const item = items[i];
    if (item !== undefined) picked.push(item);
  }
  return picked;
}

/** Python's rules for omitted, negative and out-of-range bounds. */
function bounds(
  start: Value,
  stop: Value,
  step: Value,
  length: number,
): [from: number, to: number, by: number] {
  const by = step === null ? 1 : sliceIndex(step);
  if (by === 0) throw renderFault('slice step cannot be zero');
  const [low, high] = by > 0 ? [0, length] : [-1, length - 1];
  const place = (bound: Value, fallback: number) => {
    if (bound === null) return fallback;
    const index = sliceIndex(bound);
    return Math.min(high, Math.max(low, index < 0 ? index + length : index));
  };
  return by > 0 ? [place(start, low), place(stop, high), by] : [place(start, high), place(stop, low), by];
}

function sliceIndex(value: Value): number {
  if (asInteger(value) === undefined) {
    throw renderFault('slice indices must be integers or None or have an __index__ method');
  }
  return indexArgument(value);
}
