import { ownValue } from '../../foundation/ownValue.js';
import { formText } from '../http/formText.js';
import {
  findOperator,
  MAX_ROWS,
  problemOfRow,
  toExpression,
  toGroups,
  type ConditionGroups,
  type ConditionRow,
  type FormColumns,
} from './conditionForm.js';
import { hasValue, operatorsOf, valueFieldOf, type FormColumn, type Operator } from './conditionOperators.js';
import type { FormProblem } from './formProblems.js';
import type { Values } from './formValues.js';
import type { Visit } from './pageHandlers.js';

/** When a rule sends, as its form has it: rows, or an expression. */
export interface ConditionInput {
  readonly asText: boolean;
  readonly groups: ConditionGroups;
  readonly text: string;
  /** Why it is not shown otherwise. */
  readonly note?: string;
  /** The row to go on with, as its fields are named. */
  readonly focus?: string;
}

/** The form offers the columns that all tables of a rule have. */
const MAX_TABLES = 8;
/** A menu with more is a field with suggestions: each row would repeat all of it. */
const MAX_MENU = 200;

/** The columns that rows can be about. @param targets tables that exist */
export async function readColumns(query: Visit['query'], targets: readonly string[]): Promise<FormColumns> {
  if (targets.length === 0 || targets.length > MAX_TABLES) return new Map();
  const fields = targets.map(
    (_target, index) => `t${index}: tables(name: $t${index}) {
    columns { name kind is_list labels } }`,
  );
  const { Utility } = await query<{
    readonly Utility: Readonly<Record<string, readonly { readonly columns: readonly FormColumn[] }[]>>;
  }>(
    `query (${targets.map((_target, index) => `$t${index}: String`).join(', ')}) { Utility { ${fields.join(' ')} } }`,
    Object.fromEntries(targets.map((target, index) => [`t${index}`, target])),
  );
  const [first, ...others] = Object.values(Utility).map(
    (tables) => new Map((tables[0]?.columns ?? []).map((column) => [column.name, column])),
  );
  return new Map(
    [...(first ?? [])].filter(([name, column]) =>
      others.every((columns) => isAlike(column, columns.get(name))),
    ),
  );
}

function isAlike(a: FormColumn, b: FormColumn | undefined): boolean {
  return b?.kind === a.kind && b.is_list === a.is_list && b.labels?.join('\n') === a.labels?.join('\n');
}

/** The condition of a saved rule: as rows if it fits. */
export function toInput(expression: string, columns: FormColumns): ConditionInput {
  const groups = toGroups(expression, columns);
  return groups ? { asText: false, groups, text: '' } : { asText: true, groups: [], text: expression };
}

/** The condition as it was submitted. Rows without a column are nothing yet. */
export function readCondition(values: Values): ConditionInput {
  if (formText(values, 'view') !== 'rows') {
    // Browsers send every line break as CR LF.
    const text = formText(values, 'condition').replaceAll('\r\n', '\n').trim();
    return { asText: true, groups: [], text };
  }
  const groups = new Map<number, Map<number, ConditionRow>>();
  let count = 0;
  for (const name of Object.keys(values)) {
    const [, group, row] = /^if_(\d{1,4})_(\d{1,4})_column$/.exec(name) ?? [];
    if (group === undefined || row === undefined) continue;
    // One more than the form takes, which is its problem. Each repeats all columns.
    if (++count > MAX_ROWS + 1) break;
    const rows = groups.get(Number(group)) ?? new Map<number, ConditionRow>();
    groups.set(Number(group), rows.set(Number(row), readRow(values, `if_${group}_${row}`)));
  }
  return { asText: false, groups: inOrder(groups).map(inOrder), text: '' };
}

function readRow(values: Values, prefix: string): ConditionRow {
  return {
    column: formText(values, `${prefix}_column`).trim(),
    operator: formText(values, `${prefix}_operator`),
    value: formText(values, `${prefix}_value`),
  };
}

function inOrder<T>(byNumber: ReadonlyMap<number, T>): readonly T[] {
  return [...byNumber].toSorted(([a], [b]) => a - b).map(([, item]) => item);
}

/** Without the rows of which nothing was chosen. */
function chosenRows(groups: ConditionGroups): ConditionGroups {
  return groups.map((rows) => rows.filter(({ column }) => column !== '')).filter((rows) => rows.length > 0);
}

/** What is wrong with the rows, in the words of the form. */
export function rowProblems({ groups }: ConditionInput, columns: FormColumns): readonly FormProblem[] {
  const problems = groups.flatMap((rows, group) =>
    rows.flatMap((row, index) => {
      const message = row.column === '' ? undefined : problemOfRow(row, columns);
      if (message === undefined) return [];
      const isColumn = !columns.has(row.column);
      const field = `if_${group}_${index}_${isColumn ? 'column' : 'value'}`;
      return [{ field, message, label: `Only if ${row.column}`, id: field, hint: '' }];
    }),
  );
  if (groups.flat().length <= MAX_ROWS) return problems;
  const message = `The form has at most ${MAX_ROWS} rows.`;
  const hint = 'Write an expression for more.';
  return [...problems, { field: 'condition', message, label: 'Only if', id: 'condition', hint }];
}

/** The expression of a condition without problems. */
export function expressionOf({ asText, groups, text }: ConditionInput, columns: FormColumns): string {
  return asText ? text : toExpression(chosenRows(groups), columns);
}

const BLANK: ConditionRow = { column: '', operator: '', value: '' };

/** What a button of the condition does; undefined for another button. */
export function changedBy(
  action: string,
  input: ConditionInput,
  columns: FormColumns,
): ConditionInput | undefined {
  const { groups, text } = input;
  const [, name, group = '', row = ''] = /^([a-z]+)(?:-(\d{1,4}))?(?:-(\d{1,4}))?$/.exec(action) ?? [];
  switch (name) {
    case 'show':
      return input;
    case 'rows': {
      const found = toGroups(text, columns);
      if (found) return { asText: false, groups: found, text: '' };
      const note =
        columns.size === 0
          ? 'Choose a table first: the form offers its columns.'
          : 'This expression says more than rows of the form can. It stays as it is.';
      return { ...input, note };
    }
    case 'text':
      return rowProblems(input, columns).length > 0
        ? { ...input, note: 'Complete the rows first, or remove them.' }
        : { asText: true, groups: [], text: expressionOf(input, columns) };
    case 'or':
      return { ...input, groups: [...groups, [BLANK]], focus: `if_${groups.length}_0` };
    case 'and': {
      const number = Number(group);
      const changed = groups.map((rows, index) => (index === number ? [...rows, BLANK] : rows));
      return { ...input, groups: changed, focus: `if_${number}_${groups[number]?.length ?? 0}` };
    }
    case 'remove': {
      const kept = groups.map((rows, index) =>
        index === Number(group) ? rows.filter((_row, at) => at !== Number(row)) : rows,
      );
      return { ...input, groups: kept.filter((rows) => rows.length > 0), focus: 'or' };
    }
    default:
      return undefined;
  }
}

/** What the view shows of the condition. */
export function conditionView(
  { asText, groups, text, note, focus }: ConditionInput,
  columns: FormColumns,
  problems: readonly FormProblem[],
): object {
  const wrong = new Map(problems.map(({ id, message }) => [id, message]));
  return {
    asText,
    text,
    note,
    focus,
    isFull: groups.flat().length >= MAX_ROWS,
    hasColumns: columns.size > 0,
    isLongList: columns.size > MAX_MENU,
    columns: [...columns.keys()],
    groups: groups.map((rows, group) =>
      rows.map((row, index) => rowView(row, `if_${group}_${index}`, columns, wrong)),
    ),
  };
}

const GROUPS: readonly (readonly [Operator['group'], string])[] = [
  ['change', 'The change'],
  ['now', 'After it'],
  ['before', 'Before it'],
];
/** For a row without a column. */
const UNKNOWN: FormColumn = { name: '', kind: 'text', is_list: false, labels: null };

function rowView(
  row: ConditionRow,
  id: string,
  columns: FormColumns,
  wrong: ReadonlyMap<string | undefined, string>,
): object {
  const column = columns.get(row.column) ?? { ...UNKNOWN, name: row.column };
  const operator = findOperator(row, column) ?? operatorsOf(column)[0];
  const offered = operatorsOf(column).filter(({ name, isRare }) => !isRare || name === operator?.name);
  const { input, suffix } = valueFieldOf(column);
  const options = optionsOf(column);
  return {
    id,
    column: column.name,
    isUnknown: column.name !== '' && !columns.has(column.name),
    operator: operator?.name,
    operatorLabel: operator?.label,
    operators: GROUPS.map(([name, label]) => ({
      label,
      options: offered.filter(({ group }) => group === name),
    })).filter((group) => group.options.length > 0),
    input: operator && hasValue(operator) ? (input === 'menu' && !options ? 'text' : input) : undefined,
    isUtc: suffix === 'Z',
    options,
    value: row.value,
    columnProblem: wrong.get(`${id}_column`),
    valueProblem: wrong.get(`${id}_value`),
  };
}

function optionsOf(column: FormColumn): readonly object[] | undefined {
  const { kind, labels } = column;
  if (kind === 'boolean')
    return [
      { value: 'true', label: 'yes' },
      { value: 'false', label: 'no' },
    ];
  if (labels === null || labels.length > MAX_MENU) return undefined;
  const { pattern } = valueFieldOf(column);
  return labels.filter((label) => pattern.test(label)).map((label) => ({ value: label, label }));
}

/** The message of `/roles_pbac` about a condition that is shown as rows: nobody sees the text that it has positions in. */
export function withoutPosition(problem: FormProblem): FormProblem {
  if (problem.id !== 'condition') return problem;
  const message = problem.message.replace(/ \(line \d+, column \d+\)$/, '');
  const absent = /^The condition never holds: for (insert|delete)/.exec(message)?.[1];
  return absent === undefined
    ? { ...problem, message }
    : { ...problem, message: 'This is never true.', hint: ownValue(NEVER, absent) ?? '' };
}

const NEVER: Readonly<Record<string, string>> = {
  insert: 'A row that is added has no values from before.',
  delete: 'A row that is deleted has no values afterwards: compare what they were.',
};
