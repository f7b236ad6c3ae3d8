import { runInNewContext } from 'node:vm';

/** Of `Error`, which stays extensible: Node.js and libraries set how long stacks are, and how they are written. */
const STACK_SETTINGS: ReadonlySet<unknown> = new Set(['stackTraceLimit', 'prepareStackTrace']);

/**
 * Prototypes whose properties programs override by assignment, as in `error.name = …`: JavaScript refuses that where the
 * inherited property is read-only, so that here it is an accessor which defines it on the object itself.
 */
const OVERRIDDEN: ReadonlySet<unknown> = new Set([
  Object.prototype,
  Function.prototype,
  ...[Error, TypeError, RangeError, SyntaxError, ReferenceError, EvalError, URIError, AggregateError].map(
    ({ prototype }) => prototype as object,
  ),
]);

/** Names that are overridden; of other properties, accessors would slow every call. */
const OVERRIDDEN_NAMES: ReadonlySet<unknown> = new Set([
  'constructor',
  'name',
  'message',
  'toString',
  'toLocaleString',
  'toJSON',
  'valueOf',
  'hasOwnProperty',
  'then',
  'bind',
  'isPrototypeOf',
  'propertyIsEnumerable',
]);

let isFrozen = false;

/**
 * Freezes JavaScript's own objects in this thread and removes `__proto__`, so that code which is tricked into changing one
 * of them fails instead of changing what all tenants see. Call it once all libraries are loaded that extend them.
 */
export function freezeIntrinsics(): void {
  if (isFrozen) return;
  isFrozen = true;
  Reflect.deleteProperty(Object.prototype, '__proto__');
  const seen = new Set<object>();
  const waiting = roots();
  for (const value of waiting) {
    if (!isObject(value) || seen.has(value)) continue;
    seen.add(value);
    waiting.push(Object.getPrototypeOf(value));
    for (const key of Reflect.ownKeys(value)) waiting.push(...protect(value, key));
    // Not property by property: V8 would give up its fast paths for iteration and promises, which makes a spread 20 times slower.
    if (value !== Error) Object.freeze(value);
  }
}

/** The globals of the language, without those of Node.js, and what no global names. */
function roots(): unknown[] {
  const names = runInNewContext('Object.getOwnPropertyNames(globalThis)') as string[];
  const iterators = [[], new Map(), new Set(), ''].map((iterable) => iterable[Symbol.iterator]());
  return [
    ...names
      .filter((name) => name !== 'globalThis' && name !== 'console')
      .map((name) => Reflect.get(globalThis, name) as unknown),
    ...iterators.map((iterator) => Object.getPrototypeOf(iterator) as unknown),
    Object.getPrototypeOf(''.matchAll(/a/g)),
    function* () {},
    async function () {},
    async function* () {},
  ];
}

/** Makes a property overridable where programs do that, and unchangeable on `Error`. @returns what it holds */
function protect(owner: object, key: string | symbol): unknown[] {
  const found = Reflect.getOwnPropertyDescriptor(owner, key);
  if (!found) return [];
  const held: unknown[] = Object.values(found);
  if (!found.configurable && !found.writable) return held;
  if (owner === Error && STACK_SETTINGS.has(key)) return held;
  if (found.writable && OVERRIDDEN.has(owner) && OVERRIDDEN_NAMES.has(key)) {
    const accessor = overridable(owner, key, found);
    Object.defineProperty(owner, key, accessor);
    return [...held, ...Object.values(accessor)];
  }
  if (owner === Error)
    Object.defineProperty(owner, key, {
      configurable: false,
      ...('value' in found ? { writable: false } : {}),
    });
  return held;
}

function overridable(owner: object, key: string | symbol, { value, enumerable }: PropertyDescriptor) {
  return {
    configurable: false,
    enumerable: enumerable ?? false,
    get: () => value as unknown,
    set(this: unknown, own: unknown): void {
      if (this === owner || !isObject(this))
        throw new TypeError(`${String(key)} of JavaScript's own objects can't be changed`);
      Object.defineProperty(this, key, { value: own, writable: true, enumerable: true, configurable: true });
    },
  };
}

function isObject(value: unknown): value is object {
  return (typeof value === 'object' && value !== null) || typeof value === 'function';
}
