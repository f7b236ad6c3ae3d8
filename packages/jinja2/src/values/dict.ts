import { limitFault, renderFault } from '../errors.js';
import { Decimal } from './decimal.js';
import { decimalHash } from './decimalOperators.js';
import { Float, isList, Markup, PyObject, Tuple, typeName, Undefined, type Value } from './value.js';

/** Equal keys have the same hash key, which can be a key of a JavaScript Map. */
export type HashKey = null | number | bigint | string | PyObject;

/** Characters of a tuple's hash key. */
const LONGEST_HASH = 100_000;

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

function hashObject(value: null | Value[] | PyObject): HashKey {
  if (value === null) return null;
  if (value instanceof Markup) return hashKey(value.text);
  if (value instanceof Float) return value.value;
  if (value instanceof Tuple) {
    const parts = value.items.map((item) => {
      const key = hashKey(item);
      return key instanceof PyObject ? identityOf(key) : `${typeof key}:${String(key)}`;
    });
    const text = `\0t${parts.map((part) => `${part.length}:${part}`).join()}`;
    // A tuple may hold another twice, and so on.
    if (text.length > LONGEST_HASH) throw limitFault('a tuple is too long for a key');
    return text;
  }
  if (value instanceof Decimal) return decimalHash(value);
  if (value instanceof Undefined) return UNDEFINED_KEY;
  if (!isList(value) && !(value instanceof Dict)) return value;
  throw renderFault(`unhashable type: '${typeName(value)}'`);
}

/** Whether `hashKey` accepts a value. */
export function isHashable(value: Value, seen = new Set<Value>()): boolean {
  if (isList(value) || value instanceof Dict) return false;
  if (!(value instanceof Tuple) || seen.has(value)) return true;
  seen.add(value);
  return value.items.every((item) => isHashable(item, seen));
}

const identities = new WeakMap<PyObject, number>();
let lastIdentity = 0;

function identityOf(value: PyObject): string {
  const known = identities.get(value) ?? ++lastIdentity;
  identities.set(value, known);
  return `object:${known}`;
}

/** Up to here, comparing names is as quick as a Map, and making the Map takes longer than all that is read from it. */
const FEW = 8;

/** More would need a table of tens of megabytes at once. */
const MOST_KEYS = 500_000;

/** A dict: keys of any hashable type, in insertion order. In lists and a Map, no key means anything to JavaScript. */
export class Dict extends PyObject {
  /** Undefined while the dict has only the given names. */
  private map: Map<HashKey, Value> | undefined;
  /** The keys that differ from their hash keys, such as `True` and `1.0`. */
  private originals: Map<HashKey, Value> | undefined;

  private constructor(
    private readonly names: readonly string[],
    private readonly values: readonly Value[],
  ) {
    super();
  }

  get typeName(): string {
    return 'dict';
  }

  static of(entries: Iterable<readonly [Value, Value]> = []): Dict {
    const dict = new Dict([], []);
    for (const [key, value] of entries) dict.set(key, value);
    return dict;
  }

  /** @param names each of them once */
  static named(names: readonly string[], values: readonly Value[]): Dict {
    const dict = new Dict(names, values);
    if (names.length > FEW) dict.changeable();
    return dict;
  }

  override size(): number {
    return this.map?.size ?? this.names.length;
  }

  /** The value under a key, or JavaScript's undefined if there is none. @throws Fault for a key that can't be hashed */
  get(key: Value): Value | undefined {
    if (this.map !== undefined) return this.map.get(hashKey(key));
    const name = typeof key === 'string' ? key : nameOf(key);
    const { names } = this;
    for (let i = 0; i < names.length; i++) if (names[i] === name) return this.values[i];
    return undefined;
  }

  has(key: Value): boolean {
    return this.get(key) !== undefined;
  }

  set(key: Value, value: Value): void {
    const map = this.changeable();
    const hash = hashKey(key);
    if (map.size >= MOST_KEYS) throw limitFault(`a dict of more than ${MOST_KEYS} keys`);
    if (hash !== key && !map.has(hash)) (this.originals ??= new Map<HashKey, Value>()).set(hash, key);
    map.set(hash, value);
  }

  delete(key: Value): void {
    const hash = hashKey(key);
    this.changeable().delete(hash);
    this.originals?.delete(hash);
  }

  keys(): Value[] {
    return this.map === undefined
      ? [...this.names]
      : Array.from(this.map.keys(), (hash) => this.original(hash));
  }

  entries(): [Value, Value][] {
    return Array.from(this.changeable(), ([hash, value]) => [this.original(hash), value]);
  }

  private changeable(): Map<HashKey, Value> {
    if (this.map !== undefined) return this.map;
    const map = new Map<HashKey, Value>();
    this.map = map;
    this.names.forEach((name, i) => {
      this.set(name, this.values[i] ?? null);
    });
    return map;
  }

  private original(hash: HashKey): Value {
    return this.originals?.get(hash) ?? hash;
  }
}

/** The text of a key that is a text. @throws Fault for a key that can't be hashed */
function nameOf(key: Value): string | undefined {
  if (key instanceof Markup) return key.text;
  hashKey(key);
  return undefined;
}

/** `d.keys()`, `d.values()`, `d.items()`: live views of a dict. */
export class DictView extends PyObject {
  readonly typeName: string;
  constructor(
    readonly dict: Dict,
    readonly part: 'keys' | 'values' | 'items',
  ) {
    super();
    this.typeName = `dict_${part}`;
  }

  override size(): number {
    return this.dict.size();
  }

  override repr(print: (value: Value) => string): string {
    return `${this.typeName}(${print(this.items())})`;
  }

  items(): Value[] {
    if (this.part === 'keys') return this.dict.keys();
    const entries = this.dict.entries();
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
