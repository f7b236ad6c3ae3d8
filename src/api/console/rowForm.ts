import { AppError } from '../../foundation/errors.js';
import { parseJson, writeJson } from '../../foundation/json/losslessJson.js';
import { ownValue } from '../../foundation/ownValue.js';
import { formText } from '../http/formText.js';
import type { Values } from './formValues.js';

/** A column that mutations take. */
export interface InputField {
  readonly name: string;
  /** How its value is typed: as text, as JSON, or chosen from true and false. */
  readonly kind: 'text' | 'json' | 'flag';
  /** In PostgreSQL. */
  readonly type: string;
  readonly nullable: boolean;
  readonly isKey: boolean;
}

/** A column in the form. It carries what it was, so that only changes are written. */
export interface RowField extends InputField {
  readonly text: string;
  readonly isNull: boolean;
  readonly was: string;
  readonly wasNull: boolean;
  /** Shown, but not to be edited. */
  readonly isLong: boolean;
}

/** A longer value would be sent twice with each change of another. */
const MAX_EDITED_CHARACTERS = 50_000;

/** The form of a new row. */
export function emptyFields(inputs: readonly InputField[]): readonly RowField[] {
  return inputs.map((input) => ({
    ...input,
    text: '',
    isNull: false,
    was: '',
    wasNull: false,
    isLong: false,
  }));
}

/** The form of a row with the given values. */
export function fieldsOf(
  inputs: readonly InputField[],
  row: Readonly<Record<string, unknown>>,
): readonly RowField[] {
  return inputs.map((input) => {
    const value = ownValue(row, input.name) ?? null;
    const isNull = value === null;
    const text = isNull ? '' : input.kind !== 'json' && typeof value === 'string' ? value : writeJson(value);
    const isLong = text.length > MAX_EDITED_CHARACTERS;
    return { ...input, text: isLong ? '' : text, isNull, was: isLong ? '' : text, wasNull: isNull, isLong };
  });
}

/** The form as it was submitted. */
export function fieldsTyped(inputs: readonly InputField[], values: Values): readonly RowField[] {
  return inputs.map((input) => {
    const [text, was] = [typed(values, 'value', input), typed(values, 'was', input)];
    const isFlag = input.kind === 'flag';
    return {
      ...input,
      text,
      // What was typed wins over a box that is still checked.
      isNull: text === '' && (isFlag || isChecked(values, 'null', input)),
      was,
      wasNull: was === '' && (isFlag || isChecked(values, 'wasnull', input)),
      isLong: isChecked(values, 'long', input),
    };
  });
}

/**
 * The input of the mutation: of a new row what was typed, otherwise what was changed. Throws AppError BAD_USER_INPUT for
 * text that isn't the JSON it should be.
 */
export function inputOf(
  inputs: readonly InputField[],
  values: Values,
  isNew: boolean,
): Readonly<Record<string, unknown>> {
  const written = fieldsTyped(inputs, values).filter(
    ({ kind, text, isNull, was, wasNull, isKey, isLong }) => {
      if (isNew) return text !== '' || (isNull && kind !== 'flag');
      return !isKey && !isLong && (isNull !== wasNull || text !== was);
    },
  );
  return Object.fromEntries(written.map((field) => [field.name, field.isNull ? null : valueOf(field)]));
}

function valueOf({ name, kind, text }: RowField): unknown {
  if (kind === 'text') return text;
  if (kind === 'flag') return text === 'true';
  try {
    return parseJson(text);
  } catch (cause) {
    throw new AppError('BAD_USER_INPUT', `${name} is not valid JSON.`, {
      hint: 'Write texts in double quotes, and lists as ["a", "b"].',
      details: { column: name },
      cause,
    });
  }
}

/** Browsers send every line break as CR LF. */
function typed(values: Values, prefix: string, { name }: InputField): string {
  return formText(values, `${prefix}_${name}`).replaceAll('\r\n', '\n');
}

function isChecked(values: Values, prefix: string, { name }: InputField): boolean {
  return ownValue(values, `${prefix}_${name}`) !== undefined;
}
