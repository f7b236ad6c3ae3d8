/**
 * The value under a name that is only known at run time. Only own properties are found: under `constructor` or `__proto__`
 * an index would find what all objects inherit.
 */
export function ownValue<T>(table: Readonly<Record<string, T>>, name: string): T | undefined;
export function ownValue(object: object, name: string): unknown;
export function ownValue(object: object, name: string): unknown {
  return Object.hasOwn(object, name) ? (object as Readonly<Record<string, unknown>>)[name] : undefined;
}
