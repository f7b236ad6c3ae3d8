import { Decimal } from './decimal.js';
import { Float, Markup, type Value } from './value.js';

/** Python's `bool(value)`. */
export function isTrue(value: Value): boolean {
  switch (typeof value) {
    case 'boolean':
      return value;
    case 'string':
      return value !== '';
    case 'number':
      return value !== 0;
    case 'bigint':
      return value !== 0n;
    default:
      return value !== null && isTrueObject(value);
  }
}

function isTrueObject(value: object & Value): boolean {
  if (Array.isArray(value)) return value.length > 0;
  if (value instanceof Markup) return value.text !== '';
  if (value instanceof Float) return value.value !== 0;
  if (value instanceof Decimal) return !value.isZero;
  return value.size?.() !== 0;
}
