/**
 * The value under a name that is only known at run time. Only own properties are found: under `constructor` or `__proto__`
 * an index would find what all objects inherit.
 */
export function ownValue<T>(table: Readonly<Record<string, T>>, name: PropertyKey): T | undefined;
export function ownValue(object: object, name: PropertyKey): unknown;
export function ownValue(object: object, name: PropertyKey): unknown {
  // eslint-disable-next-line rowpost/no-inherited-names -- it is its own property
  return Object.hasOwn(object, name) ? (object as Readonly<Record<PropertyKey, unknown>>)[name] : undefined;
}
