import { ownValue } from '../../foundation/ownValue.js';
import type { ControlContext } from '../controlContext.js';
import { badInput, requireItems, requireValue } from './badInput.js';
import { checkAll } from './checkAll.js';
import type { Change, CheckedChange, Column, ControlObject } from './declaration.js';

/** Values of columns, secrets in the clear. */
type Values = Readonly<Record<string, unknown>>;

/**
 * Converts an input to column values: for a new row all input columns, for an existing one those that are given. Throws
 * AppError BAD_USER_INPUT, and what the columns' and the object's own checks throw.
 */
export async function readValues(
  object: ControlObject,
  requested: Change,
): Promise<{ readonly values: Values; readonly checked: CheckedChange }> {
  const { context, before } = requested;
  const given = (object.complete?.(requested) ?? requested.given) as Values;
  const change: Change = { ...requested, given };
  const read = new Map<string, unknown>();
  const checkedAs = (): CheckedChange => ({
    ...change,
    row: { ...before, ...Object.fromEntries(read) },
  });
  await checkAll(
    (function* () {
      for (const [name, column] of Object.entries(object.columns)) {
        if (!column.input) continue;
        const value = ownValue(given, name);
        if (before && (value === undefined || (value === null && column.nullMeansUnchanged))) continue;
        yield [name, () => read.set(name, readValue(column, value, name, context))] as const;
      }
      yield* object.checks?.(checkedAs()) ?? [];
    })(),
  );
  const values = Object.fromEntries(read);
  const checked = checkedAs();
  for (const [name, { references }] of Object.entries(object.columns)) {
    const value = ownValue(checked.row as Values, name);
    if (value != null) await references?.(context, value as never, name);
  }
  await object.check?.(checked);
  const derived = (await object.derive?.(checked)) ?? {};
  return { values: { ...values, ...derived }, checked: { ...checked, row: { ...checked.row, ...derived } } };
}

/** Converts the input of one column. Throws AppError BAD_USER_INPUT. */
export function readValue(column: Column, given: unknown, name: string, context: ControlContext): unknown {
  const { required, oneOf, fallback = oneOf?.[0] ?? null, maxCharacters = Infinity, read } = column;
  const value = required ? requireValue(given, name) : (given ?? fallback);
  if (value === null) return null;
  if (column.type.endsWith('[]')) requireItems(value as readonly unknown[], name);
  if (typeof value === 'string' && value.length > maxCharacters)
    throw badInput(name, `${name} has at most ${maxCharacters} characters.`);
  if (oneOf && !oneOf.includes(value as string)) throw badInput(name, `${name} is ${inWords(oneOf)}.`);
  return read ? read(value as never, name, context) : value;
}

function inWords(texts: readonly string[]): string {
  return [texts.slice(0, -1).join(', '), texts.at(-1)].join(' or ');
}

/** Repeated items mean nothing, and would be stored and compared. */
export function distinct<T>(items: readonly T[]): readonly T[] {
  return [...new Set(items)];
}

/** Text that consists of spaces counts as absent. */
export function blankToNull(text: string): string | null {
  return text.trim() === '' ? null : text;
}
