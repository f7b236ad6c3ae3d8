import { renderFault } from '../errors.js';
import { Decimal } from './decimal.js';
import { decimalHash } from './decimalOperators.js';
import {
  Float,
  isList,
  isPlainDict,
  Markup,
  PyObject,
  Tuple,
  typeName,
  Undefined,
  type PlainDict,
  type Value,
} from './value.js';

/** Equal keys have the same hash key, which can be a key of a JavaScript Map. */
export type HashKey = null | number | bigint | string | PyObject;

const UNDEFINED_KEY = new Undefined('');

/**
 * The hash key of a value: equal values (1, 1.0 and True) share one.
 * @throws Fault for lists and dicts, which Python can't hash either.
 */
export function hashKey(value: Value): HashKey {
  switch (typeof value) {
    case 'string':
      return value.charCodeAt(0) === 0 ? `\0s${value}` : value;
    case 'number':
    case 'bigint':
      return value;
    case 'boolean':
      return value ? 1 : 0;
    default:
      return hashObject(value);
  }
}

function hashObject(value: null | Value[] | PlainDict | PyObject): HashKey {
  if (value === null) return null;
  if (value instanceof Markup) return hashKey(value.text);
  if (value instanceof Float) return value.value;
  if (value instanceof Tuple) {
    const parts = value.items.map((item) => {
      const key = hashKey(item);
      return key instanceof PyObject ? identityOf(key) : `${typeof key}:${String(key)}`;
    });
    return `\0t${parts.map((part) => `${part.length}:${part}`).join()}`;
  }
  if (value instanceof Decimal) return decimalHash(value);
  if (value instanceof Undefined) return UNDEFINED_KEY;
  if (value instanceof PyObject && !(value instanceof Dict)) return value;
  throw renderFault(`unhashable type: '${typeName(value)}'`);
}

/** Whether `hashKey` accepts a value. */
export function isHashable(value: Value): boolean {
  if (value instanceof Tuple) return value.items.every(isHashable);
  return !isList(value) && !isDict(value);
}

const identities = new WeakMap<PyObject, number>();
let lastIdentity = 0;

function identityOf(value: PyObject): string {
  const known = identities.get(value) ?? ++lastIdentity;
  identities.set(value, known);
  return `object:${known}`;
}

interface Entry {
  readonly key: Value;
  value: Value;
}

/** A dict created by the template: keys of any hashable type, in insertion order. */
export class Dict extends PyObject {
  readonly typeName: string = 'dict';
  private readonly map = new Map<HashKey, Entry>();

  static of(entries: Iterable<readonly [Value, Value]>): Dict {
    const dict = new Dict();
    for (const [key, value] of entries) dict.set(key, value);
    return dict;
  }

  override size(): number {
    return this.map.size;
  }

  get(key: Value): Value | undefined {
    return this.map.get(hashKey(key))?.value;
  }

  set(key: Value, value: Value): void {
    const hash = hashKey(key);
    const entry = this.map.get(hash);
    if (entry === undefined) this.map.set(hash, { key, value });
    else entry.value = value;
  }

  delete(key: Value): void {
    this.map.delete(hashKey(key));
  }

  entries(): IterableIterator<Entry> {
    return this.map.values();
  }
}

export type DictLike = Dict | PlainDict;

export function isDict(value: Value): value is DictLike {
  return value instanceof Dict || isPlainDict(value);
}

/** The value under a key, or JavaScript's undefined if there is none. */
export function dictGet(dict: DictLike, key: Value): Value | undefined {
  if (dict instanceof Dict) return dict.get(key);
  const name = plainKey(key);
  return name !== undefined && Object.hasOwn(dict, name) ? dict[name] : undefined;
}

/** Keys of plain dicts are strings; other hashable keys are never found. */
function plainKey(key: Value): string | undefined {
  if (typeof key === 'string') return key;
  if (key instanceof Markup) return key.text;
  hashKey(key);
  return undefined;
}

export function dictHas(dict: DictLike, key: Value): boolean {
  return dictGet(dict, key) !== undefined;
}

export function dictSize(dict: DictLike): number {
  return dict instanceof Dict ? dict.size() : Object.keys(dict).length;
}

export function dictKeys(dict: DictLike): Value[] {
  return dict instanceof Dict ? Array.from(dict.entries(), (entry) => entry.key) : Object.keys(dict);
}

export function dictEntries(dict: DictLike): [Value, Value][] {
  return dict instanceof Dict
    ? Array.from(dict.entries(), ({ key, value }) => [key, value])
    : Object.entries(dict);
}

/** Sets a key. A key named like a property of JavaScript's objects is an ordinary key. */
export function dictSet(dict: DictLike, key: Value, value: Value): void {
  if (dict instanceof Dict) {
    dict.set(key, value);
    return;
  }
  const name = plainKey(key);
  if (name === undefined) throw renderFault('a dict of the context takes strings as keys only');
  Object.defineProperty(dict, name, { value, writable: true, enumerable: true, configurable: true });
}

export function dictDelete(dict: DictLike, key: Value): void {
  if (dict instanceof Dict) {
    dict.delete(key);
    return;
  }
  const name = plainKey(key);
  if (name !== undefined) Reflect.deleteProperty(dict, name);
}

/** `d.keys()`, `d.values()`, `d.items()`: live views of a dict. */
export class DictView extends PyObject {
  readonly typeName: string;
  constructor(
    readonly dict: DictLike,
    readonly part: 'keys' | 'values' | 'items',
  ) {
    super();
    this.typeName = `dict_${part}`;
  }

  override size(): number {
    return dictSize(this.dict);
  }

  override repr(print: (value: Value) => string): string {
    return `${this.typeName}(${print(this.items())})`;
  }

  items(): Value[] {
    if (this.part === 'keys') return dictKeys(this.dict);
    const entries = dictEntries(this.dict);
    return this.part === 'values'
      ? entries.map(([, value]) => value)
      : entries.map((entry) => new Tuple(entry));
  }
}

/** Items of a list or tuple, or undefined for anything else. */
export function sequenceItems(value: Value): readonly Value[] | undefined {
  if (isList(value)) return value;
  return value instanceof Tuple ? value.items : undefined;
}
