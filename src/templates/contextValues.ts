import { limitFault, renderFault } from './errors.js';
import { Dict } from './values/dict.js';
import { PyObject, type Value } from './values/value.js';

const MAX_DEPTH = 500;

/** The values of plain data: objects become dicts. The data is only read. @throws Fault for anything that isn't data */
export function toValue(data: unknown, depth = 0): Value {
  switch (typeof data) {
    case 'string':
    case 'number':
    case 'boolean':
    case 'bigint':
      return data;
    case 'object':
      if (data === null || data instanceof PyObject) return data;
      if (depth > MAX_DEPTH) throw limitFault(`the context nests deeper than ${MAX_DEPTH} levels`);
      return Array.isArray(data) ? data.map((item) => toValue(item, depth + 1)) : toDict(data, depth);
    default:
      throw renderFault(`the context holds a ${typeof data}, which is no data`);
  }
}

/** The own properties of an object; one that is undefined is absent. */
export function toDict(data: object, depth = 0): Dict {
  const dict = new Dict();
  for (const [key, item] of Object.entries(data) as [string, unknown][]) {
    if (item !== undefined) dict.set(key, toValue(item, depth + 1));
  }
  return dict;
}
