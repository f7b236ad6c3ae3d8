import { limitFault, renderFault } from '../errors.js';
import { typeName, type Value } from '../values/value.js';

const MAX_DEPTH = 500;

/** An object of the context as LiquidJS sees it, which indexes it by names of the template: it has nothing but its own members. */
export type LiquidRecord = Record<string, unknown>;

/** What records inherit: LiquidJS prints them as JavaScript's objects, in which no name of a template finds anything. */
const RECORD: object = Object.freeze(
  Object.assign(Object.create(null) as object, { [Symbol.toPrimitive]: () => '[object Object]' }),
);

/** A copy of a context, which one render may change. @throws Fault if it is no object, or nests too deeply */
export function toRecord(context: unknown): LiquidRecord {
  const isObject = typeof context === 'object' && context !== null && !Array.isArray(context);
  if (isObject) return copyObject(context, 0);
  throw renderFault(`the context must be an object, not ${typeName(context as Value)}`);
}

function copyObject(object: object, depth: number): LiquidRecord {
  if (depth > MAX_DEPTH) throw limitFault(`the context nests deeper than ${MAX_DEPTH} levels`);
  const entries = (Object.entries(object) as [string, unknown][]).map(([key, value]) => [
    key,
    copy(value, depth + 1),
  ]);
  return Object.setPrototypeOf(Object.fromEntries(entries), RECORD) as LiquidRecord;
}

function copy(value: unknown, depth: number): unknown {
  if (typeof value === 'function') throw renderFault('the context holds a function, which is no data');
  if (typeof value !== 'object' || value === null) return value;
  return Array.isArray(value) ? value.map((item) => copy(item, depth + 1)) : copyObject(value, depth);
}
