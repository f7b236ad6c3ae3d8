import type { AppError } from '../../foundation/errors.js';
import { ownValue } from '../../foundation/ownValue.js';

/** What a form calls a field, and what it says if the field is empty. */
export interface FieldWords {
  readonly label: string;
  readonly missing?: string;
  /** If another one is named so. */
  readonly taken?: string;
  /** The id of its element, if that is not its name. */
  readonly id?: string;
}

/** One thing to correct in a form, in the words of the form. */
export interface FormProblem {
  readonly field: string;
  readonly message: string;
  readonly label: string | undefined;
  readonly id: string | undefined;
  readonly hint: string;
}

/** Everything that an error says about a form; nothing of an error that is not about its fields. */
export function formProblems(
  { code, message, hint, details }: Pick<AppError, 'code' | 'message' | 'hint' | 'details'>,
  fieldWords: Readonly<Record<string, FieldWords>>,
): readonly FormProblem[] {
  const { field, fields, messages, hints } = details;
  const given = typeof field === 'string' ? field : code.startsWith('FILTER_') ? 'condition' : undefined;
  const all = Array.isArray(fields)
    ? fields.map((name: string, index) => ({
        field: name,
        message: at(messages, index),
        hint: at(hints, index),
      }))
    : given === undefined
      ? []
      : [{ field: given, message, hint }];
  return all.map((problem) => {
    const name = /^(?:options\.)?(\w+)/.exec(problem.field)?.[1] ?? problem.field;
    const known = ownValue(fieldWords, name);
    const words = TAKEN.test(problem.message)
      ? known?.taken
      : MISSING.test(problem.message)
        ? known?.missing
        : undefined;
    return {
      ...problem,
      label: known?.label,
      id: known && (known.id ?? name),
      ...(words === undefined ? {} : { message: words, hint: '' }),
    };
  });
}

/** As `/roles_pbac` says it. */
const MISSING = /^\S+ (?:is missing|must (?:name one|name a table|contain an address|be one address))\.$/;

const TAKEN = /^Another [^"]+ is named "/;

const at = (list: unknown, index: number): string =>
  Array.isArray(list) ? ((list as readonly string[])[index] ?? '') : '';
