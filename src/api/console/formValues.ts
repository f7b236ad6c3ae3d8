import { AppError } from '../../errors.js';

/** Fields of a form, or of a query string. */
export type Values = Readonly<Record<string, unknown>>;

/** As GraphQL answers one: compare its text. */
export type Id = number | string;

const MAX_LENGTH = 320;

/** Trimmed and of bounded length; empty where there is none. */
export function textOf(values: Values, name: string, maxLength = MAX_LENGTH): string {
  const value = values[name];
  return typeof value === 'string' ? value.trim().slice(0, maxLength) : '';
}

/** A whole number of up to nine digits; 0 where there is none. */
export function numberOf(values: Values, name: string): number {
  return Number(/^\d{1,9}$/.exec(textOf(values, name))?.[0] ?? 0);
}

/** What commas separate. */
export function itemsOf(values: Values, name: string): readonly string[] {
  return textOf(values, name, Infinity)
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');
}

/** What follows the prefix in the names of checked boxes. */
export function checkedOf(values: Values, prefix: string): readonly string[] {
  return Object.keys(values).flatMap((name) => (name.startsWith(prefix) ? [name.slice(prefix.length)] : []));
}

/** A refusal that is shown beside the form, with what was written in it. Throws every other error. */
export function problemOf(error: unknown): AppError {
  if (error instanceof AppError && error.status < 500 && error.code !== 'PERMISSION_DENIED') return error;
  throw error;
}
