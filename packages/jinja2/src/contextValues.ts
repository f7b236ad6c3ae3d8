import { limitFault, renderFault } from './errors.js';
import { Dict } from './values/dict.js';
import { PyObject, type Value } from './values/value.js';

const MAX_DEPTH = 500;

/** The values of plain data, which is only read: objects become dicts. @throws Fault for anything that isn't data */
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
      return Array.isArray(data) ? toList(data, depth + 1) : toDict(data, depth + 1);
    default:
      throw renderFault(`the context holds a ${typeof data}, which is no data`);
  }
}

function toList(data: readonly unknown[], depth: number): Value[] {
  return data.map((item) => (isLeaf(item) ? item : toValue(item, depth)));
}

/** The own properties of an object; one that is undefined is absent. */
export function toDict(data: object, depth = 0): Dict {
  const names = Object.keys(data);
  const values: Value[] = [];
  for (const name of names) {
    // eslint-disable-next-line rowpost/no-inherited-names -- it is its own property
    const item = (data as Readonly<Record<string, unknown>>)[name];
    if (item === undefined) return toDict(withoutUndefined(data), depth);
    values.push(isLeaf(item) ? item : toValue(item, depth));
  }
  return Dict.named(names, values);
}

function withoutUndefined(data: object): object {
  return Object.fromEntries(Object.entries(data).filter(([, value]) => value !== undefined));
}

/** What most members are: asked here, because a call for each takes as long as the rest. */
function isLeaf(data: unknown): data is string | number | null {
  return typeof data === 'string' || typeof data === 'number' || data === null;
}
