import { AppError } from '../../foundation/errors.js';
import type { Fields } from '../http/readFields.js';
import { formText } from '../http/formText.js';

/** Fields of a form, or of a query string. */
export type Values = Fields['values'];

/** An id as returned by GraphQL; compare as text. */
export type Id = number | string;

const MAX_LENGTH = 320;

/** Trimmed and truncated; empty if absent. */
export function textOf(values: Values, name: string, maxLength = MAX_LENGTH): string {
  return formText(values, name).trim().slice(0, maxLength);
}

/** An integer of up to nine digits; 0 if absent. */
export function numberOf(values: Values, name: string): number {
  return Number(/^\d{1,9}$/.exec(textOf(values, name))?.[0] ?? 0);
}

/** The items of a comma-separated list. */
export function itemsOf(values: Values, name: string): readonly string[] {
  return textOf(values, name, Infinity)
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');
}

/** The names of checked boxes with this prefix, without it. */
export function checkedOf(values: Values, prefix: string): readonly string[] {
  return Object.keys(values).flatMap((name) => (name.startsWith(prefix) ? [name.slice(prefix.length)] : []));
}

/** Cuts a text that is too long to show, never within a character. */
export function shortened(text: string, maxLength: number): string {
  return text.length > maxLength ? `${text.slice(0, maxLength).replace(/[\uD800-\uDBFF]$/, '')}…` : text;
}

/** An error to show next to the form, which keeps its input. Rethrows any other error. */
export function problemOf(error: unknown): AppError {
  if (error instanceof AppError && error.status < 500 && error.code !== 'PERMISSION_DENIED') return error;
  throw error;
}
