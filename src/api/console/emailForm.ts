import { getNamedType, isObjectType } from 'graphql';
import type { Column, FormControl } from '../../control/derive/declaration.js';
import { MAX_ITEMS } from '../../control/email/addresses.js';
import { WORDING } from '../../control/email/wording.js';
import { emailTypes } from '../../control/objects/emailTypes.js';
import { readKeyText } from '../../control/explain/readKeyText.js';
import { AppError } from '../../foundation/errors.js';
import { ownValue } from '../../foundation/ownValue.js';
import { formText } from '../http/formText.js';
import { textOf, type Values } from './formValues.js';
import type { Visit } from './pageHandlers.js';
import { readQueries } from './queryBlocks.js';
import { findStarter, type Starter } from './starters.js';

/** A field of the form: a column of email types, or a member of `options`. */
interface FormField extends FormControl {
  readonly name: string;
  readonly choices?: readonly string[] | undefined;
  /** Shown below the fields that every email has. */
  readonly isFurther: boolean;
}

/** What every email has, in this order. */
const FIRST = ['email_type', 'subject', 'preheader', 'sender', 'recipients', 'template', 'queries'];
const COLUMNS = Object.entries<Column>(emailTypes.columns);
const FIELDS = COLUMNS.flatMap(([column, { control, memberControls, oneOf: choices }]) =>
  Object.entries({ ...(control && { [column]: control }), ...memberControls }).map(
    ([name, each]): FormField => ({ ...each, name, choices, isFurther: !FIRST.includes(name) }),
  ),
);

export const EMAIL_FIELDS: readonly FormField[] = [
  ...FIRST.flatMap((first) => FIELDS.filter(({ name }) => name === first)),
  ...FIELDS.filter(({ isFurther }) => isFurther),
];

/** GraphQL: the columns that the form edits. */
export const EMAIL_SELECTION = COLUMNS.filter(([, column]) => column.control ?? column.memberControls)
  .map(([name, { output }]) => {
    const type = output && getNamedType(output);
    return isObjectType(type) ? `${name} { ${Object.keys(type.getFields()).join(' ')} }` : name;
  })
  .join(' ');

const OPTIONS: ReadonlySet<string> = new Set(
  COLUMNS.flatMap(([, { memberControls = {} }]) => Object.keys(memberControls)),
);

/** The form's texts for a saved email type. */
export function textsOf(type: Values): Record<string, string> {
  const all: Values = { ...type, ...(type['options'] as Values | null) };
  return Object.fromEntries(
    EMAIL_FIELDS.map(({ name, kind }) => [name, writtenAs(kind, ownValue(all, name))]),
  );
}

function writtenAs(kind: FormField['kind'], value: unknown): string {
  if (value == null) return '';
  if (kind === 'json' || kind === 'queries') return JSON.stringify(value, null, 2);
  return Array.isArray(value) ? value.join('\n') : (value as string);
}

/** The texts of a submitted form. */
export function readTexts(values: Values): Record<string, string> {
  const texts = EMAIL_FIELDS.map(({ name, kind }) => [
    name,
    kind === 'queries'
      ? writtenAs(kind, readQueries(values))
      : formText(values, name).replaceAll('\r\n', '\n'),
  ]);
  return Object.fromEntries(texts) as Record<string, string>;
}

/** These texts with the wording of others, for those who may change no more. */
export function withWordingOf(
  { isAdmin }: Pick<Visit, 'isAdmin'>,
  texts: Readonly<Record<string, string>> = {},
  others: Readonly<Record<string, string>>,
): Record<string, string> {
  return isAdmin ? others : { ...texts, ...wordingIn(others) };
}

function wordingIn<T>(values: Readonly<Record<string, T>>): Record<string, T> {
  return Object.fromEntries(Object.entries(values).filter(([name]) => WORDING.includes(name)));
}

/** The input of `update_email_type`: what the role may change of it. Throws AppError BAD_USER_INPUT with the field. */
export function changesOf(
  { isAdmin }: Pick<Visit, 'isAdmin'>,
  texts: Readonly<Record<string, string>>,
): Values {
  const input = inputOf(texts);
  return isAdmin ? input : wordingIn(input);
}

/** The GraphQL input. Throws AppError BAD_USER_INPUT with the field. */
function inputOf(texts: Readonly<Record<string, string>>): Values {
  const values = EMAIL_FIELDS.map(({ name, kind }): [string, unknown] => [
    name,
    valueOf(name, ownValue(texts, name) ?? '', kind),
  ]);
  const options = values.filter(([name]) => OPTIONS.has(name));
  return {
    ...Object.fromEntries(values.filter(([name]) => !OPTIONS.has(name))),
    options: Object.fromEntries(options),
  };
}

/** One more than a list may have, so that a longer one is refused before each item is read. */
const ITEMS_READ = MAX_ITEMS + 1;

function valueOf(field: string, text: string, kind: FormField['kind']): unknown {
  if (text.trim() === '') return kind === 'list' ? [] : null;
  if (kind === 'list') {
    const items = text.split('\n').filter((line) => line.trim() !== '');
    return items.slice(0, ITEMS_READ);
  }
  if (kind !== 'json' && kind !== 'queries') return text;
  try {
    return JSON.parse(text) as unknown;
  } catch (cause) {
    throw new AppError('BAD_USER_INPUT', 'This is not JSON.', { cause, details: { field } });
  }
}

/** The row that a preview or a test is about, and the role that runs its queries. */
const ABOUT = ['table', 'key', 'operation', 'role'] as const;

export function readAbout(values: Values): Record<(typeof ABOUT)[number], string> {
  const fields = ABOUT.map((name) => [name, textOf(values, name, Infinity)]);
  return Object.fromEntries(fields) as ReturnType<typeof readAbout>;
}

/** Arguments of `preview_email` and `send_test_email`. */
export const DRAFT_ARGS =
  '$type: ID, $input: email_typesInput, $target: String, $key: GenericScalar, $operation: String, $role: Int, $context: GenericScalar';
export const DRAFT_PASSED =
  'email_type: $type, input: $input, target: $target, key: $key, operation: $operation, query_roleid: $role, context: $context';

/**
 * Their variables from a submitted form. Without a key they refer to the last row, and without a table to the starter's
 * sample. Throws AppError BAD_USER_INPUT with the field.
 */
export function draftOf({ values, isAdmin }: Pick<Visit, 'values' | 'isAdmin'>): Values {
  const { table, key, operation, role } = readAbout(values);
  const given = changesOf({ isAdmin }, readTexts(values));
  // A name is only required when the email is saved.
  const input = isAdmin ? { ...given, email_type: given['email_type'] ?? UNNAMED } : given;
  const starter = findStarter(values['starter']);
  if (table === '' && starter) return sampleOf(starter, input);
  return {
    input,
    ...(isAdmin ? {} : { type: textOf(values, 'saved') }),
    ...(table === '' ? {} : { target: table }),
    ...(key === '' ? {} : { key: readKeyText(key) }),
    ...(operation === '' ? {} : { operation }),
    ...(role === '' ? {} : { role }),
  };
}

const UNNAMED = 'new_email';

/** The sample has what the queries would return. */
export function sampleOf({ sample }: Starter, input: Values): Values {
  return { input: { ...input, queries: [] }, context: sample };
}

/** GraphQL's error for an email that can't be composed. */
export interface Problem {
  readonly code?: string;
  readonly message: string;
  readonly field?: unknown;
  readonly line?: unknown;
  readonly column?: unknown;
  readonly hint?: string | null;
}
export const PROBLEM = 'code field message line column hint';

export function toProblem({ code, message, hint, details }: AppError): Problem {
  return { ...details, code, message, hint };
}

/** The form field that a problem belongs to, such as `template` for `template` and `queries` for `queries[0].filter`. */
export function fieldOf({ field }: Problem): FormField | undefined {
  const at = typeof field === 'string' ? field.replace(/^options\./, '') : '';
  return EMAIL_FIELDS.find(({ name }) => new RegExp(`^${name}([.[]|$)`).test(at));
}
