import { runInNewContext } from 'node:vm';

/**
 * Prototypes whose properties programs override by assignment, as in `error.name = …`: JavaScript refuses that where the
 * inherited property is read-only, so that here it is an accessor which defines it on the object itself. Not those of arrays
 * and promises: with an accessor there, `map` and `await` take up to forty times as long.
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
  'bind',
  'isPrototypeOf',
  'propertyIsEnumerable',
]);

/**
 * Left as they are: Node.js and libraries set how long stacks are, and how they are written; and on a frozen prototype,
 * `replace` takes ten times as long.
 */
const OPEN: ReadonlySet<unknown> = new Set([Error, RegExp.prototype]);

let isFrozen = false;

/**
 * Freezes JavaScript's own objects in this process and removes `__proto__`, so that code which is tricked into changing one
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
    for (const key of Reflect.ownKeys(value)) waiting.push(...partsOf(value, key));
    if (!OPEN.has(value)) Object.freeze(value);
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

/** What a property holds. Makes it overridable first, if need be. */
function partsOf(owner: object, key: string | symbol): unknown[] {
  const found = Reflect.getOwnPropertyDescriptor(owner, key);
  if (found?.writable && OVERRIDDEN.has(owner) && OVERRIDDEN_NAMES.has(key))
    Object.defineProperty(owner, key, overridable(owner, key, found));
  return Object.values(found ?? {});
}

function overridable(owner: object, key: string | symbol, { value, enumerable }: PropertyDescriptor) {
  return {
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
