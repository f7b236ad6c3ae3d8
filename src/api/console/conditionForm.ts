import { AppError } from '../../foundation/errors.js';
import { LiteralBuilder } from '../../graphql/filter/syntax/literalBuilder.js';
import { parseFilter } from '../../graphql/filter/syntax/parser.js';
import type { FilterNode, Literal } from '../../graphql/filter/syntax/tree.js';
import { partsOf, pathsOf } from '../../graphql/filter/syntax/walk.js';
import { writeFilter } from '../../graphql/filter/syntax/writer.js';
import {
  BLANK,
  hasValue,
  NEW,
  OLD,
  operatorsOf,
  VALUE,
  valueFieldOf,
  type FormColumn,
  type Operator,
} from './conditionOperators.js';

/** A row of the form: how a column compares with a value. */
export interface ConditionRow {
  readonly column: string;
  /** The name of an operator. */
  readonly operator: string;
  /** As its field has it; ignored by operators that need none. */
  readonly value: string;
}

/** A rule's condition as the form shows it: all rows of at least one group have to be true. Without groups, it always is. */
export type ConditionGroups = readonly (readonly ConditionRow[])[];

export type FormColumns = ReadonlyMap<string, FormColumn>;

/** An expression with more rows is text. */
export const MAX_ROWS = 40;

/** The rows that say the same as an expression; undefined for one that they can't say. */
export function toGroups(expression: string, columns: FormColumns): ConditionGroups | undefined {
  const parsed = parsedOrNothing(expression);
  if (!parsed) return undefined;
  const { tree, literals } = parsed;
  if (tree.kind === 'everything') return [];
  const whole = rowsOf([tree], literals, columns);
  const groups = whole
    ? [whole]
    : (tree.kind === 'or' ? tree.items : [tree]).map((group) =>
        rowsOf(group.kind === 'and' ? group.items : [group], literals, columns),
      );
  const known = groups.filter((group) => group !== undefined);
  return known.length === groups.length && known.flat().length <= MAX_ROWS ? known : undefined;
}

function parsedOrNothing(expression: string): ReturnType<typeof parseFilter> | undefined {
  try {
    return parseFilter(expression);
  } catch (error) {
    if (error instanceof AppError) return undefined;
    throw error;
  }
}

/** Rows for conditions that all have to be true; undefined if one of them is no row. */
function rowsOf(
  conditions: readonly FilterNode[],
  literals: readonly Literal[],
  columns: FormColumns,
): readonly ConditionRow[] | undefined {
  const rows: ConditionRow[] = [];
  for (let next = 0; next < conditions.length;) {
    const found = rowAt(conditions.slice(next, next + 2), literals, columns);
    if (!found) return undefined;
    rows.push(found.row);
    next += found.length;
  }
  return rows;
}

/** The row that begins with the first of these conditions, and how many of them it says. */
function rowAt(
  conditions: readonly FilterNode[],
  literals: readonly Literal[],
  columns: FormColumns,
): { readonly row: ConditionRow; readonly length: number } | undefined {
  const [first] = conditions;
  const names = first && pathsOf(first)[0]?.names;
  const column = names?.length === 2 ? columns.get(names[1] ?? '') : undefined;
  if (!column) return undefined;
  // What takes two conditions first.
  for (const length of [2, 1]) {
    for (const operator of operatorsOf(column)) {
      if (operator.conditions.length !== length || conditions.length < length) continue;
      const match = new Match(column, operator, literals);
      if (!operator.conditions.every((pattern, index) => match.fits(pattern, conditions[index]))) continue;
      return { row: { column: column.name, operator: operator.name, value: match.value ?? '' }, length };
    }
  }
  return undefined;
}

/** Compares conditions with those of an operator. */
class Match {
  value: string | undefined;

  constructor(
    private readonly column: FormColumn,
    private readonly operator: Operator,
    private readonly literals: readonly Literal[],
  ) {}

  fits(pattern: FilterNode, node: FilterNode | undefined): boolean {
    if (!node) return false;
    if (pattern === NEW || pattern === OLD) {
      return node.kind === 'path' && sameNames(node.names, pathTo(pattern, this.column));
    }
    if (pattern === BLANK) return node.kind === 'text' && this.#literal(node.index) === '';
    if (pattern === VALUE) return this.#isValue(node);
    const [wanted, parts] = [partsOf(pattern), partsOf(node)];
    return (
      headOf(node) === headOf(pattern) &&
      parts.length === wanted.length &&
      wanted.every((part, index) => this.fits(part, parts[index]))
    );
  }

  /** Whether the node is a literal that the field can hold, and the same as any before. */
  #isValue(node: FilterNode): boolean {
    const { literal, pattern, suffix = '' } = valueFieldOf(this.column);
    if (node.kind !== literal) return false;
    const text = node.kind === 'boolean' ? String(node.value) : this.#literal(node.index);
    const value = this.operator.pattern
      ? withinPattern(text, this.operator.pattern)
      : text.endsWith(suffix)
        ? text.slice(0, text.length - suffix.length)
        : undefined;
    if (value === undefined || !pattern.test(value)) return false;
    this.value ??= value;
    return this.value === value;
  }

  #literal(index: number): string {
    const literal = this.literals[index];
    return literal && 'text' in literal ? literal.text : '';
  }
}

function sameNames(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((name, index) => name === b[index]);
}

function pathTo(record: FilterNode, { name }: FormColumn): readonly string[] {
  return [record === NEW ? 'new' : 'old', name];
}

/** What a node says besides its operands; nothing else occurs in the conditions of operators. */
function headOf(node: FilterNode): string {
  switch (node.kind) {
    case 'compare':
      return node.operator;
    case 'distinct':
    case 'in':
      return `${node.kind} ${String(node.negated)}`;
    case 'like':
      return `like ${String(node.negated)} ${String(node.caseless)}`;
    case 'is':
      return `is ${node.test} ${String(node.negated)}`;
    default:
      return node.kind;
  }
}

/** The text in a pattern of LIKE; undefined if it has wildcards of its own. */
function withinPattern(
  text: string,
  [before, after]: readonly [before: string, after: string],
): string | undefined {
  if (text.length < before.length + after.length || !text.startsWith(before) || !text.endsWith(after))
    return undefined;
  const inner = text.slice(before.length, text.length - after.length);
  return /^(?:[^%_\\]|\\[%_\\])*$/.test(inner) ? inner.replace(/\\(.)/g, '$1') : undefined;
}

/** What is wrong with a row, in the words of the form; undefined if nothing is. */
export function problemOfRow(row: ConditionRow, columns: FormColumns): string | undefined {
  const column = columns.get(row.column);
  if (!column) return row.column === '' ? 'Choose a column.' : `There is no column ${row.column}.`;
  const operator = findOperator(row, column);
  if (!operator) return `Choose how ${column.name} is compared.`;
  if (!hasValue(operator)) return undefined;
  const { pattern, wanted } = valueFieldOf(column);
  const isChosen = column.labels === null || column.labels.includes(row.value);
  return pattern.test(row.value) && row.value.isWellFormed() && isChosen ? undefined : wanted;
}

export function findOperator({ operator }: ConditionRow, column: FormColumn): Operator | undefined {
  return operatorsOf(column).find(({ name }) => name === operator);
}

/** The expression that says the same as the rows, of which none has a problem. */
export function toExpression(groups: ConditionGroups, columns: FormColumns): string {
  const literals = new LiteralBuilder();
  const written = groups
    .filter((group) => group.length > 0)
    .map((group) =>
      joined(
        'and',
        group.flatMap((row) => conditionsOf(row, columns, literals)),
      ),
    );
  if (written.length === 0) return '';
  return writeFilter({ tree: joined('or', written), literals: literals.literals });
}

function joined(kind: 'and' | 'or', items: readonly FilterNode[]): FilterNode {
  const [first] = items;
  return first && items.length === 1 ? first : { kind, items, at: VALUE.at };
}

function conditionsOf(
  row: ConditionRow,
  columns: FormColumns,
  literals: LiteralBuilder,
): readonly FilterNode[] {
  const column = columns.get(row.column);
  const operator = column && findOperator(row, column);
  if (!operator) throw new Error('a row without a column or an operator has no expression');
  const { at } = VALUE;
  const fill = (pattern: FilterNode): FilterNode => {
    if (pattern === NEW || pattern === OLD) return { kind: 'path', names: pathTo(pattern, column), at };
    if (pattern === BLANK) return { kind: 'text', ...literals.text(at, ''), at };
    if (pattern === VALUE) return literalOf(row.value, column, operator, literals);
    switch (pattern.kind) {
      case 'and':
      case 'or':
        return { ...pattern, items: pattern.items.map(fill) };
      case 'is':
        return { ...pattern, operand: fill(pattern.operand) };
      case 'compare':
      case 'distinct':
      case 'in':
        return { ...pattern, left: fill(pattern.left), right: fill(pattern.right) };
      case 'like':
        return { ...pattern, left: fill(pattern.left), pattern: fill(pattern.pattern) };
      default:
        throw new Error(`no operator has a condition of kind ${pattern.kind}`);
    }
  };
  return operator.conditions.map(fill);
}

function literalOf(
  value: string,
  column: FormColumn,
  operator: Operator,
  literals: LiteralBuilder,
): FilterNode {
  const { literal, suffix = '' } = valueFieldOf(column);
  const { at } = VALUE;
  if (literal === 'boolean') return { kind: 'boolean', value: value === 'true', at };
  if (literal === 'number') return { kind: 'number', ...literals.number(at, value), at };
  const [before, after] = operator.pattern ?? ['', suffix];
  const text = operator.pattern ? value.replace(/[%_\\]/g, '\\$&') : value;
  return { kind: 'text', ...literals.text(at, `${before}${text}${after}`), at };
}
