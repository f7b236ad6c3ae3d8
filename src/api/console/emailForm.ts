import { readKeyText } from '../../control/explain/readKeyText.js';
import { AppError } from '../../foundation/errors.js';
import { ownValue } from '../../foundation/ownValue.js';
import { formText } from '../http/formText.js';
import { textOf, type Values } from './formValues.js';
import { readQueries } from './queryBlocks.js';
import { findStarter, type Starter } from './starters.js';

/** How a field of an email type appears in the form: a list has one item per line, an object is JSON, queries have blocks. */
interface FormField {
  readonly name: string;
  readonly label: string;
  readonly kind: 'line' | 'area' | 'list' | 'json' | 'choice' | 'queries';
  readonly choices?: readonly string[];
  readonly note?: string;
  /** Shown below the fields that every email has. */
  readonly isFurther?: boolean;
}

export const EMAIL_FIELDS: readonly FormField[] = [
  { name: 'email_type', label: 'Name', kind: 'line' },
  { name: 'subject', label: 'Subject', kind: 'line' },
  { name: 'preheader', label: 'Preheader', kind: 'line', note: 'Shown next to the subject in the inbox.' },
  { name: 'sender', label: 'From', kind: 'line', note: 'Such as Shop <shop@example.com>' },
  { name: 'recipients', label: 'To', kind: 'list', note: 'One per line.' },
  { name: 'template', label: 'Template (HTML)', kind: 'area' },
  { name: 'queries', label: 'Queries', kind: 'queries' },
  {
    name: 'text',
    label: 'Text part',
    kind: 'area',
    note: 'Generated from the HTML if empty; "none" sends no text part.',
    isFurther: true,
  },
  { name: 'cc', label: 'Cc', kind: 'list', note: 'One per line.', isFurther: true },
  { name: 'bcc', label: 'Bcc', kind: 'list', note: 'One per line.', isFurther: true },
  { name: 'reply_to', label: 'Reply to', kind: 'line', isFurther: true },
  {
    name: 'attachments',
    label: 'Attachments',
    kind: 'list',
    note: 'Names of queries or columns, one per line.',
    isFurther: true,
  },
  {
    name: 'headers',
    label: 'Headers',
    kind: 'json',
    note: 'A JSON object of templates by name.',
    isFurther: true,
  },
  { name: 'categories', label: 'Categories', kind: 'list', note: 'One per line.', isFurther: true },
  {
    name: 'locale',
    label: 'Language',
    kind: 'line',
    note: 'Empty, or a template such as {{ customer[0].language }}. de-AT selects the email NAME_de_AT, else NAME_de, else this one.',
    isFurther: true,
  },
  {
    name: 'unsubscribe',
    label: 'Unsubscribe',
    kind: 'choice',
    choices: ['none', 'type', 'all'],
    note: 'What recipients can unsubscribe from with one click: email of this type, or all email with such a link. Meant for email that recipients did not request individually.',
    isFurther: true,
  },
  { name: 'syntax', label: 'Syntax', kind: 'choice', choices: ['jinja2', 'liquid'], isFurther: true },
  {
    name: 'undefined',
    label: 'Missing names',
    kind: 'choice',
    choices: ['lenient', 'strict'],
    note: 'lenient renders nothing, strict fails the delivery.',
    isFurther: true,
  },
];

const OPTIONS: ReadonlySet<string> = new Set(['cc', 'bcc']);

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

/** The GraphQL input. Throws AppError BAD_USER_INPUT with the field. */
export function inputOf(texts: Readonly<Record<string, string>>): Values {
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

function valueOf(field: string, text: string, kind: FormField['kind']): unknown {
  if (text.trim() === '') return kind === 'list' ? [] : null;
  if (kind === 'list') return text.split('\n').filter((line) => line.trim() !== '');
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
  '$input: email_typesInput, $target: String, $key: GenericScalar, $operation: String, $role: Int, $context: GenericScalar';
export const DRAFT_PASSED =
  'input: $input, target: $target, key: $key, operation: $operation, query_roleid: $role, context: $context';

/**
 * Their variables from a submitted form. Without a key they refer to the last row, and without a table to the starter's
 * sample. Throws AppError BAD_USER_INPUT with the field.
 */
export function draftOf(values: Values): Values {
  const { table, key, operation, role } = readAbout(values);
  const given = inputOf(readTexts(values));
  // A name is only required when the email is saved.
  const input = { ...given, email_type: given['email_type'] ?? UNNAMED };
  const starter = findStarter(values['starter']);
  if (table === '' && starter) return sampleOf(starter, input);
  return {
    input,
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
