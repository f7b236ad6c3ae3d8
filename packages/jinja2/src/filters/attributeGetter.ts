import type { Budget } from '../limits.js';
import { getItem } from '../values/attributes.js';
import { isText, textOf, Undefined, type Value } from '../values/value.js';

export type Getter = (item: Value) => Value;

/** Reads `a.b.0` from an item; null reads the item itself. `fallback` replaces undefined values. */
export function attributeGetter(attribute: Value, budget: Budget, fallback: Value = null): Getter {
  const parts = attributeParts(attribute);
  return (item) => {
    budget.work(parts.length);
    let value = item;
    for (const part of parts) {
      value = getItem(value, part, budget);
      if (fallback !== null && value instanceof Undefined) value = fallback;
    }
    return value;
  };
}

/** Reads `a,b.c`: a list of several attributes. */
export function attributesGetter(attributes: Value, budget: Budget): (item: Value) => Value[] {
  const names: Value[] = isText(attributes) ? textOf(attributes).split(',') : [attributes];
  const getters = names.map((name) => attributeGetter(name, budget));
  return (item) => getters.map((get) => get(item));
}

function attributeParts(attribute: Value): Value[] {
  if (attribute === null) return [];
  if (!isText(attribute)) return [attribute];
  return textOf(attribute)
    .split('.')
    .map((part) => (/^\d+$/.test(part) ? Number(part) : part));
}

/** Lowercases text and leaves other values unchanged: the default comparison key of filters. */
export function ignoreCase(value: Value): Value {
  return isText(value) ? textOf(value).toLowerCase() : value;
}
