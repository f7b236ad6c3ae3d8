import { nullWhen } from '../../../db/catalog/operators.js';
import { sql, type Sql } from '../../../db/sql/sql.js';
import { ownValue } from '../../../foundation/ownValue.js';
import type { Environment, Value } from '../environment.js';
import { widest } from '../rows/readExtent.js';
import { errorAt } from '../syntax/errors.js';
import { bounded, spend } from './effort.js';
import { asItself, asType, compileSide, isTextLiteral, refuseNull, type Side } from './operands.js';
import type { ArithmeticNode, ArithmeticOperator, SignNode } from '../syntax/tree.js';
import { describe, family, isWholeNumber, TYPES, widerNumber } from '../types.js';

/**
 * Arithmetic. Integers are computed in 64 bits, and their quotient is an integer (5 / 2 = 2); anything divided by zero is
 * null; `^` is computed in floating point. Dates and intervals are added and subtracted as in PostgreSQL.
 *
 * @throws AppError FILTER_TYPE
 */
export function compileArithmetic(node: ArithmeticNode, environment: Environment): Value {
  const left = compileSide(node.left, environment);
  const right = compileSide(node.right, environment);
  refuseNull([left, right]);
  return temporal(node, left, right, environment) ?? numeric(node, left, right, environment);
}

export function compileSign(node: SignNode, environment: Environment): Value {
  const side = compileSide(node.operand, environment);
  refuseNull([side]);
  const value = asItself(side, environment);
  if (node.operator === '-' && family(value.type) === 'interval')
    return computed(sql`(operator(pg_catalog.-) ${value.sql})`, value.type, value);
  requireNumber(value, side, node.operator);
  if (node.operator === '~') {
    requireWhole(value, side, '~');
    return computed(sql`(operator(pg_catalog.~) ${wide(value)})`, TYPES.int8, value);
  }
  const type = isWholeNumber(value.type) ? TYPES.int8 : value.type;
  return computed(sql`(operator(pg_catalog.-) ${wide(value)})`, type, value);
}

type NumericOperator = Exclude<ArithmeticOperator, '&' | '|' | '#' | '<<' | '>>'>;

const BITWISE: Readonly<Partial<Record<ArithmeticOperator, (a: Sql, b: Sql) => Sql>>> = {
  '&': (a, b) => sql`(${a} operator(pg_catalog.&) ${b})`,
  '|': (a, b) => sql`(${a} operator(pg_catalog.|) ${b})`,
  '#': (a, b) => sql`(${a} operator(pg_catalog.#) ${b})`,
  '<<': (a, b) => sql`(${a} operator(pg_catalog.<<) ${b}::pg_catalog.int4)`,
  '>>': (a, b) => sql`(${a} operator(pg_catalog.>>) ${b}::pg_catalog.int4)`,
};

const ZERO = sql`0`;

const NUMERIC: Readonly<Record<NumericOperator, (a: Sql, b: Sql) => Sql>> = {
  '+': (a, b) => sql`(${a} operator(pg_catalog.+) ${b})`,
  '-': (a, b) => sql`(${a} operator(pg_catalog.-) ${b})`,
  '*': (a, b) => sql`(${a} operator(pg_catalog.*) ${b})`,
  '/': (a, b) => sql`(${a} operator(pg_catalog./) ${nullWhen(b, ZERO)})`,
  '%': (a, b) => sql`(${a} operator(pg_catalog.%) ${nullWhen(b, ZERO)})`,
  // Floating point: exact powers can take 131,072 digits and seconds for one row.
  '^': (a, b) => sql`(${a}::pg_catalog.float8 operator(pg_catalog.^) ${b}::pg_catalog.float8)`,
};

function numeric(node: ArithmeticNode, leftSide: Side, rightSide: Side, environment: Environment): Value {
  const left = bounded(numberOf(leftSide, rightSide, environment), environment);
  const right = bounded(numberOf(rightSide, leftSide, environment), environment);
  requireNumber(left, leftSide, node.operator);
  requireNumber(right, rightSide, node.operator);
  const bitwise = BITWISE[node.operator];
  if (bitwise) {
    requireWhole(left, leftSide, node.operator);
    requireWhole(right, rightSide, node.operator);
    return computed(bitwise(wide(left), wide(right)), TYPES.int8, left, right);
  }
  const operator = node.operator as NumericOperator;
  if (operator === '^') return computed(NUMERIC['^'](left.sql, right.sql), TYPES.float8, left, right);
  const type = widerNumber(left.type, right.type);
  if (isWholeNumber(type))
    return computed(NUMERIC[operator](wide(left), wide(right)), TYPES.int8, left, right);
  if (type.kind === 'float' && operator === '%') {
    // PostgreSQL has no remainder operator for floating-point numbers.
    return computed(
      NUMERIC['%'](sql`${left.sql}::pg_catalog.numeric`, sql`${right.sql}::pg_catalog.numeric`),
      TYPES.numeric,
      left,
      right,
    );
  }
  if (type.kind === 'numeric') spend(environment, { copies: '*/%'.includes(operator) ? 2 : 0.2 });
  const cast = type.kind === 'float' ? sql`::pg_catalog.float8` : sql`::pg_catalog.numeric`;
  return computed(NUMERIC[operator](sql`${left.sql}${cast}`, sql`${right.sql}${cast}`), type, left, right);
}

/** A literal as a number: text takes the other operand's type, numbers keep their own. */
function numberOf(side: Side, other: Side, environment: Environment): Value {
  if (!isTextLiteral(side)) return asItself(side, environment);
  return other.operand.is === 'value' && family(other.operand.type) === 'number'
    ? asType(side, other.operand.type, environment)
    : asType(side, TYPES.numeric, environment);
}

/** Arithmetic on dates and intervals; undefined if neither side is one. */
function temporal(
  { operator, at }: ArithmeticNode,
  leftSide: Side,
  rightSide: Side,
  environment: Environment,
): Value | undefined {
  const kindOf = ({ operand }: Side): string => (operand.is === 'value' ? family(operand.type) : operand.is);
  const isTemporal = (kind: string): boolean => ['moment', 'interval', 'time'].includes(kind);
  if (!isTemporal(kindOf(leftSide)) && !isTemporal(kindOf(rightSide))) return undefined;
  // Text next to a date or an interval is an interval: createdate > now() - '7 days'.
  const valueOf = (side: Side): Value =>
    isTextLiteral(side) ? asType(side, TYPES.interval, environment) : asItself(side, environment);
  const left = valueOf(leftSide);
  const right = valueOf(rightSide);
  const rule = ownValue(TEMPORAL, `${temporalKind(left)} ${operator} ${temporalKind(right)}`);
  if (!rule) {
    const message = `${describe(left.type)} ${operator} ${describe(right.type)} means nothing`;
    throw errorAt('FILTER_TYPE', message, at, "Add intervals to dates: createdate + interval('7 days').");
  }
  const [type, write] = rule;
  return computed(write(left.sql, right.sql), type ?? left.type, left, right);
}

function temporalKind({ type }: Value): string {
  if (isWholeNumber(type)) return 'whole';
  const own = family(type);
  return own === 'moment' ? type.kind : own;
}

const add = (a: Sql, b: Sql): Sql => sql`(${a} operator(pg_catalog.+) ${b})`;
const times = (a: Sql, b: Sql): Sql => sql`(${a} operator(pg_catalog.*) ${b}::pg_catalog.float8)`;
const dividedBy = (a: Sql, b: Sql): Sql => NUMERIC['/'](a, sql`${b}::pg_catalog.float8`);
const subtract = (a: Sql, b: Sql): Sql => sql`(${a} operator(pg_catalog.-) ${b})`;

type Rule = readonly [result: Value['type'] | undefined, write: (a: Sql, b: Sql) => Sql];

/** Keyed by the kinds of the operands. Without a result type, the result has the left operand's. */
const TEMPORAL: Readonly<Record<string, Rule>> = {
  'date + whole': [TYPES.date, (a, b) => sql`(${a} operator(pg_catalog.+) ${b}::pg_catalog.int4)`],
  'whole + date': [TYPES.date, (a, b) => sql`(${b} operator(pg_catalog.+) ${a}::pg_catalog.int4)`],
  'date - whole': [TYPES.date, (a, b) => sql`(${a} operator(pg_catalog.-) ${b}::pg_catalog.int4)`],
  'date - date': [TYPES.int4, subtract],
  'date + interval': [TYPES.timestamp, add],
  'date - interval': [TYPES.timestamp, subtract],
  'timestamp + interval': [undefined, add],
  'timestamp - interval': [undefined, subtract],
  'timestamptz + interval': [undefined, add],
  'timestamptz - interval': [undefined, subtract],
  'interval + date': [TYPES.timestamp, add],
  'interval + timestamp': [TYPES.timestamp, add],
  'interval + timestamptz': [TYPES.timestamptz, add],
  'time + interval': [undefined, add],
  'time - interval': [undefined, subtract],
  'time - time': [
    TYPES.interval,
    (a, b) => sql`(${a}::pg_catalog.time operator(pg_catalog.-) ${b}::pg_catalog.time)`,
  ],
  'interval + interval': [TYPES.interval, add],
  'interval - interval': [TYPES.interval, subtract],
  'interval * whole': [TYPES.interval, times],
  'interval * number': [TYPES.interval, times],
  'whole * interval': [TYPES.interval, (a, b) => times(b, a)],
  'number * interval': [TYPES.interval, (a, b) => times(b, a)],
  'interval / whole': [TYPES.interval, dividedBy],
  'interval / number': [TYPES.interval, dividedBy],
  ...momentDifferences(),
};

/** Differences of two dates or timestamps, at least one of them a timestamp. */
function momentDifferences(): Record<string, Rule> {
  const difference: Rule = [
    TYPES.interval,
    (a, b) => sql`(${a}::pg_catalog.timestamptz operator(pg_catalog.-) ${b}::pg_catalog.timestamptz)`,
  ];
  const kinds = ['date', 'timestamp', 'timestamptz'];
  const pairs = kinds
    .flatMap((a) => kinds.map((b) => `${a} - ${b}`))
    .filter((pair) => pair !== 'date - date');
  return Object.fromEntries(pairs.map((pair) => [pair, difference]));
}

function computed(written: Sql, type: Value['type'], ...from: readonly Value[]): Value {
  return { is: 'value', sql: written, type, operand: 'computed', reads: widest(from) };
}

function wide(value: Value): Sql {
  return value.type.kind === 'integer' ? sql`${value.sql}::pg_catalog.int8` : value.sql;
}

function requireNumber(value: Value, { node }: Side, operator: string): void {
  if (family(value.type) === 'number') return;
  const hint = 'Convert it with number(…).';
  throw errorAt('FILTER_TYPE', `"${operator}" needs numbers, not ${describe(value.type)}`, node.at, hint);
}

function requireWhole(value: Value, { node }: Side, operator: string): void {
  if (isWholeNumber(value.type)) return;
  throw errorAt(
    'FILTER_TYPE',
    `"${operator}" needs whole numbers`,
    node.at,
    'Convert it with floor(…) or trunc(…).',
  );
}
