import type { TypeKind } from '../../db/catalog/catalog.js';
import type { FilterNode } from '../../graphql/filter/syntax/tree.js';
import { partsOf } from '../../graphql/filter/syntax/walk.js';

/** A column that rows of the form can be about, as `Utility.tables` describes it. */
export interface FormColumn {
  readonly name: string;
  readonly kind: TypeKind;
  readonly is_list: boolean;
  /** Those of an enum. */
  readonly labels: readonly string[] | null;
}

/** How a row of the form compares a column, in words and as conditions that all have to be true. */
export interface Operator {
  readonly name: string;
  readonly label: string;
  readonly group: 'change' | 'now' | 'before';
  /** With `NEW`, `OLD` and `VALUE` in place of the column and the value. */
  readonly conditions: readonly FilterNode[];
  /** The value is part of a pattern: what stands before and after it. */
  readonly pattern?: readonly [before: string, after: string];
  /** Only shown in rows that have it: there is another one for most needs. */
  readonly isRare?: true;
}

const at = { offset: 0, line: 1, column: 1 };
/** The column after the change, and before it. */
export const NEW: FilterNode = { kind: 'path', names: ['new'], at };
export const OLD: FilterNode = { kind: 'path', names: ['old'], at };
/** What is typed or chosen. */
export const VALUE: FilterNode = { kind: 'null', at };
/** The empty text. */
export const BLANK: FilterNode = { kind: 'text', index: -1, size: 0, at };

type Comparison = '=' | '!=' | '<' | '<=' | '>' | '>=';

const compare = (left: FilterNode, operator: Comparison, right: FilterNode): FilterNode => ({
  kind: 'compare',
  operator,
  left,
  right,
  at,
});
/** Unlike `!=`, also true of one that is null. */
const differs = (left: FilterNode, right: FilterNode): FilterNode => ({
  kind: 'distinct',
  negated: false,
  left,
  right,
  at,
});
const isNull = (operand: FilterNode, negated = false): FilterNode => ({
  kind: 'is',
  test: 'null',
  negated,
  operand,
  at,
});
const isLike = (left: FilterNode): FilterNode => ({
  kind: 'like',
  negated: false,
  caseless: true,
  left,
  pattern: VALUE,
  at,
});

const change = (name: string, label: string, ...conditions: readonly FilterNode[]): Operator => ({
  name,
  label,
  group: 'change',
  conditions,
});

/** A test of the column as it is now, and the same of it as it was. */
function test(
  name: string,
  [now, before]: readonly [now: string, before: string],
  condition: (column: FilterNode) => FilterNode,
  more: Pick<Operator, 'pattern' | 'isRare'> = {},
): readonly Operator[] {
  return [
    { name, label: now, group: 'now', conditions: [condition(NEW)], ...more },
    { name: `was_${name}`, label: before, group: 'before', conditions: [condition(OLD)], ...more },
  ];
}

const compared = (
  name: string,
  labels: readonly [string, string],
  operator: Comparison,
  more?: Pick<Operator, 'isRare'>,
): readonly Operator[] => test(name, labels, (column) => compare(column, operator, VALUE), more);

const CHANGED = change('changed', 'changed', differs(NEW, OLD));
const BECOMES = [
  change('becomes', 'becomes', compare(NEW, '=', VALUE), differs(OLD, VALUE)),
  {
    ...change(
      'becomes_from_other',
      'becomes, from another value',
      compare(NEW, '=', VALUE),
      compare(OLD, '!=', VALUE),
    ),
    isRare: true,
  } as const,
  CHANGED,
];
const IS = compared('is', ['is', 'was'], '=');
const IS_NOT = test('is_not', ['is not', 'was not'], (column) => differs(column, VALUE));
const IS_OTHER = compared('is_other', ['is another value than', 'was another value than'], '!=', {
  isRare: true,
});
const EMPTY = [
  ...test('empty', ['is empty', 'was empty'], (column) => isNull(column)),
  ...test('filled', ['is not empty', 'was not empty'], (column) => isNull(column, true)),
];

const OF_TEXT = [
  ...BECOMES,
  ...IS,
  ...IS_NOT,
  ...IS_OTHER,
  ...test('contains', ['contains', 'contained'], isLike, { pattern: ['%', '%'] }),
  ...test('starts', ['starts with', 'started with'], isLike, { pattern: ['', '%'] }),
  ...test('ends', ['ends with', 'ended with'], isLike, { pattern: ['%', ''] }),
  // For people, a text without characters is as empty as none.
  ...test('empty', ['is empty', 'was empty'], (column) => ({
    kind: 'or',
    items: [isNull(column), compare(column, '=', BLANK)],
    at,
  })),
  ...test('filled', ['is not empty', 'was not empty'], (column) => compare(column, '!=', BLANK)),
  ...test('null', ['has no value', 'had no value'], (column) => isNull(column), { isRare: true }),
  ...test('not_null', ['has a value', 'had a value'], (column) => isNull(column, true), { isRare: true }),
];
const OF_CHOICE = [...BECOMES, ...IS, ...IS_NOT, ...IS_OTHER, ...EMPTY];
const OF_NUMBER = [
  ...BECOMES,
  change('increased', 'went up', compare(NEW, '>', OLD)),
  change('decreased', 'went down', compare(NEW, '<', OLD)),
  ...IS,
  ...IS_NOT,
  ...IS_OTHER,
  ...compared('more', ['is more than', 'was more than'], '>'),
  ...compared('at_least', ['is at least', 'was at least'], '>='),
  ...compared('less', ['is less than', 'was less than'], '<'),
  ...compared('at_most', ['is at most', 'was at most'], '<='),
  ...EMPTY,
];
const OF_TIME = [
  ...BECOMES,
  ...IS,
  ...IS_NOT,
  ...IS_OTHER,
  ...compared('more', ['is after', 'was after'], '>'),
  ...compared('at_least', ['is on or after', 'was on or after'], '>='),
  ...compared('less', ['is before', 'was before'], '<'),
  ...compared('at_most', ['is on or before', 'was on or before'], '<='),
  ...EMPTY,
];
const OF_LIST = [
  CHANGED,
  ...test('includes', ['includes', 'included'], (column) => ({
    kind: 'in',
    negated: false,
    left: VALUE,
    right: column,
    at,
  })),
  ...EMPTY,
];
/** Their values have no field of their own. */
const OF_ANY = [CHANGED, ...EMPTY];

/** A field for values of one kind, and the literals that it can hold. */
export interface ValueField {
  readonly input: 'text' | 'number' | 'date' | 'datetime-local' | 'menu';
  readonly literal: 'text' | 'number' | 'boolean';
  readonly pattern: RegExp;
  /** What follows the value in the literal. */
  readonly suffix?: string;
  /** What to write, if a text doesn't fit. */
  readonly wanted: string;
}

/** A field has one line. */
const TEXT: ValueField = {
  input: 'text',
  literal: 'text',
  pattern: /^[^\n\r\0]+$/,
  wanted: 'Enter a text on one line.',
};
const WHOLE: ValueField = {
  input: 'number',
  literal: 'number',
  pattern: /^-?\d{1,100}$/,
  wanted: 'Enter a whole number.',
};
/** As HTML has them. */
const DECIMAL: ValueField = {
  input: 'number',
  literal: 'number',
  pattern: /^-?(?:\d{1,100}|\d{0,100}\.\d{1,100})$/,
  wanted: 'Enter a number, such as 12.50.',
};
const LOCAL_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d)?$/;
const TIME: ValueField = {
  input: 'datetime-local',
  literal: 'text',
  pattern: LOCAL_TIME,
  wanted: 'Enter a date and a time.',
};

const FIELDS: Readonly<
  Partial<Record<TypeKind, readonly [operators: readonly Operator[], field: ValueField]>>
> = {
  text: [OF_TEXT, TEXT],
  uuid: [
    OF_CHOICE,
    { ...TEXT, pattern: /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i, wanted: 'Enter a UUID.' },
  ],
  enum: [OF_CHOICE, { ...TEXT, input: 'menu', wanted: 'Choose a value.' }],
  boolean: [
    OF_CHOICE,
    { input: 'menu', literal: 'boolean', pattern: /^(?:true|false)$/, wanted: 'Choose yes or no.' },
  ],
  integer: [OF_NUMBER, WHOLE],
  bigint: [OF_NUMBER, WHOLE],
  numeric: [OF_NUMBER, DECIMAL],
  float: [OF_NUMBER, DECIMAL],
  date: [OF_TIME, { input: 'date', literal: 'text', pattern: /^\d{4}-\d\d-\d\d$/, wanted: 'Enter a date.' }],
  timestamp: [OF_TIME, TIME],
  timestamptz: [OF_TIME, { ...TIME, suffix: 'Z', wanted: 'Enter a date and a time, in UTC.' }],
};

/** How the form compares a column. */
export function operatorsOf({ kind, is_list }: FormColumn): readonly Operator[] {
  const known = FIELDS[kind];
  // PostgreSQL does not compare lists of every type.
  if (is_list) return known ? OF_LIST : EMPTY;
  return known?.[0] ?? OF_ANY;
}

export function valueFieldOf({ kind }: FormColumn): ValueField {
  return FIELDS[kind]?.[1] ?? TEXT;
}

export function hasValue({ conditions }: Operator): boolean {
  return conditions.some(mentionsValue);
}

function mentionsValue(node: FilterNode): boolean {
  return node === VALUE || partsOf(node).some(mentionsValue);
}
