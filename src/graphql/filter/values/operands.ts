import type { ColumnType } from '../../../db/catalog/catalog.js';
import { fullSqlType } from '../../../db/catalog/types.js';
import { sql, typeName } from '../../../db/sql/sql.js';
import { castRank, listParameter, literalParameter, naturalType } from './conversions.js';
import type { Environment, Operand, Value } from '../environment.js';
import { errorAt, type Position } from '../syntax/errors.js';
import type { BooleanNode, FilterNode, LiteralClass, NumberNode, TextNode } from '../syntax/tree.js';
import { comparable, describe, elementOf, family, TYPES, widerNumber } from '../types.js';

/** An operand with the node it was compiled from, for the position of errors. */
export interface Side {
  readonly node: FilterNode;
  readonly operand: Operand;
}

export function compileSide(node: FilterNode, environment: Environment): Side {
  return { node, operand: environment.compileOperand(node, environment) };
}

/** Whether the operand is the keyword null. */
export function isNullLiteral({ operand }: Side): boolean {
  return operand.is === 'literal' && operand.node.kind === 'null';
}

/** Where null would be an unknown value, whatever else there is. Throws AppError FILTER_TYPE. */
export function refuseNull(sides: readonly Side[]): void {
  for (const side of sides) {
    if (isNullLiteral(side)) {
      throw errorAt('FILTER_TYPE', "null can't be used here", side.node.at, 'Write IS NULL or IS NOT NULL.');
    }
  }
}

export function isTextLiteral({ operand }: Side): boolean {
  return operand.is === 'literal' && operand.node.kind === 'text';
}

const CONSTANT = { operand: 'constant', reads: 'row' } as const;

function literalClass(node: NumberNode | TextNode | BooleanNode): LiteralClass {
  return node.kind === 'number' ? node.size : node.kind;
}

/**
 * The operand as a value of a type: literals are sent as that type, values must be comparable with it.
 * @throws AppError FILTER_TYPE
 */
export function asType(side: Side, type: ColumnType, environment: Environment): Value {
  const { operand, node } = side;
  if (operand.is === 'value') {
    if (!comparable(operand.type, type)) throw mismatch(operand.type, type, node.at);
    return operand;
  }
  if (operand.is === 'list') throw misplacedList(node.at);
  if (operand.is === 'literals') {
    if (!type.array) throw misplacedList(node.at);
    const list = listParameter(environment, operand.node, elementOf(type), 'keep');
    if (!list)
      throw errorAt('FILTER_TYPE', `An item of the list is not ${describe(elementOf(type))}`, node.at);
    return { is: 'value', sql: list.sql, type: { ...type, sqlType: list.itemType }, ...CONSTANT };
  }
  const literal = operand.node;
  if (literal.kind === 'null')
    return { is: 'value', sql: sql`null::${typeName(fullSqlType(type))}`, type, ...CONSTANT };
  if (literal.kind === 'boolean' && type.kind === 'boolean' && !type.array) {
    return { is: 'value', sql: literal.value ? sql`true` : sql`false`, type, ...CONSTANT };
  }
  const parameter =
    literal.kind === 'boolean'
      ? undefined
      : literalParameter(environment, { index: literal.index, class: literalClass(literal) }, type);
  if (!parameter) throw mismatch(naturalType(literalClass(literal)), type, node.at);
  return { is: 'value', sql: parameter, type: sentType(literal, type), ...CONSTANT };
}

/** A number that an integer column can't hold is sent as numeric, and so is anything computed from it. Floats are sent as the column's. */
function sentType(literal: NumberNode | TextNode | BooleanNode, type: ColumnType): ColumnType {
  return literal.kind === 'number' && family(type) === 'number' && type.kind !== 'float'
    ? widerNumber(type, TYPES[literal.size])
    : type;
}

/** The operand as a value of its natural type; text literals are text. */
export function asItself(side: Side, environment: Environment): Value {
  const { operand, node } = side;
  if (operand.is === 'value') return operand;
  if (operand.is !== 'literal') throw misplacedList(node.at);
  const type = operand.node.kind === 'null' ? TYPES.text : naturalType(literalClass(operand.node));
  return asType(side, type, environment);
}

/**
 * Operands of one comparison as values of comparable types: literals take the type of the first value.
 * @throws AppError FILTER_TYPE
 */
export function unify(sides: readonly Side[], environment: Environment): Value[] {
  const type = leadingType(sides) ?? literalsType(sides);
  return listsOfOneType(sides.map((side) => asType(side, type, environment)));
}

/** PostgreSQL compares lists of one type only, not those of `int4` with those of `int8`, nor `varchar` with `text`. */
function listsOfOneType(values: Value[]): Value[] {
  const [first, ...others] = values.filter(({ type }) => type.array).map(({ type }) => type);
  if (!first) return values;
  const widest = others.reduce((a, b) => (castRank(b.sqlType) > castRank(a.sqlType) ? b : a), first);
  return values.map((value) => {
    if (!value.type.array || value.type.sqlType === widest.sqlType) return value;
    const operand = value.operand === 'constant' ? 'constant' : 'computed';
    return { ...value, sql: sql`${value.sql}::${typeName(fullSqlType(widest))}`, type: widest, operand };
  });
}

function leadingType(sides: readonly Side[]): ColumnType | undefined {
  for (const { operand } of sides) if (operand.is === 'value') return operand.type;
  return undefined;
}

/** For literals only: numbers win over text (`5 = "5"`), and the widest number over the others. */
function literalsType(sides: readonly Side[]): ColumnType {
  let type: ColumnType | undefined;
  for (const { operand, node } of sides) {
    if (operand.is !== 'literal') throw misplacedList(node.at);
    if (operand.node.kind === 'null') continue;
    const own = naturalType(literalClass(operand.node));
    if (!type || type.kind === 'text') type = own;
    else if (family(type) === 'number' && family(own) === 'number') type = widerNumber(type, own);
  }
  return type ?? TYPES.text;
}

export function mismatch(found: ColumnType, wanted: ColumnType, at: Position): Error {
  const hint =
    family(wanted) === 'text'
      ? 'Put the value in quotes, or convert it with text(…).'
      : `Compare ${describe(wanted)} with ${describe(wanted)}; number(…), text(…), date(…) convert.`;
  return errorAt('FILTER_TYPE', `${describe(found)} can't be used with ${describe(wanted)}`, at, hint);
}

function misplacedList(at: Position): Error {
  return errorAt(
    'FILTER_TYPE',
    "A list can't be used here",
    at,
    'Lists go with IN, and with columns that are lists.',
  );
}
