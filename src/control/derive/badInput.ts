import { AppError } from '../../foundation/errors.js';

/** The `input` of a mutation. Its type is nullable, because clients declare it both ways, but it is required. */
export function requireInput<T extends object>(args: { readonly input?: T | null }): T {
  if (args.input == null) throw badInput('input', 'input is missing.');
  return args.input;
}

/** Requires a value that is neither absent nor empty. */
export function requireValue<T>(value: T | null | undefined, field: string): T {
  if (value == null || value === '') throw badInput(field, `${field} is missing.`);
  return value;
}

/** Requires a list without nulls. */
export function requireItems<T>(list: readonly (T | null)[], field: string): readonly T[] {
  if (list.some((item) => item === null)) throw badInput(field, `${field} must not contain null.`);
  return list as readonly T[];
}

/** Converts an id, which clients send as text, to a number. Throws AppError NOT_FOUND for one that can't exist. */
export function numericId(id: string, what: string): number {
  const number = /^\d{1,10}$/.test(id) ? Number(id) : -1;
  if (number < 0 || number > 2 ** 31 - 1) throw notFound(what, id);
  return number;
}

/** Checks a bigint id, which stays text. Throws AppError NOT_FOUND for one that can't exist. */
export function bigintId(id: string, what: string): string {
  if (!/^\d{1,18}$/.test(id)) throw notFound(what, id);
  return id;
}

export function badInput(field: string, message: string): AppError {
  return new AppError('BAD_USER_INPUT', message, { details: { field } });
}

export function notFound(what: string, id: string | number): AppError {
  return new AppError('NOT_FOUND', `There is no ${what} ${id}.`);
}
