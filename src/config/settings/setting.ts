/** An environment variable. */
export interface Setting<T> {
  readonly env: string;
  readonly parse: (text: string) => T;
  /** The value when the variable is unset or empty. */
  readonly fallback: T;
  /** How the docs show the fallback, if not as the value itself. */
  readonly fallbackText?: string;
  readonly doc: string;
}

export function setting<T>(
  env: string,
  parse: (text: string) => T,
  fallback: T,
  doc: string,
  fallbackText?: string,
): Setting<T> {
  return { env, parse, fallback, doc, ...(fallbackText === undefined ? {} : { fallbackText }) };
}

export const DAY_SECONDS = 86_400;
/** That long ago PostgreSQL still knows dates. */
export const MAX_DAYS = 999_999;
