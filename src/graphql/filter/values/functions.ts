import { suggestion } from 'rowpost-jinja2/suggestion';
import type { ColumnType } from '../../../db/catalog/catalog.js';
import { sql, typeName } from '../../../db/sql/sql.js';
import { formParameter, naturalType } from './conversions.js';
import type { Environment, Value } from '../environment.js';
import { widest } from '../rows/readExtent.js';
import { errorAt } from '../syntax/errors.js';
import { bounded, copiesOf, lengthsOf, patternOf, spend } from './effort.js';
import { FUNCTIONS, UNITS, type FilterFunction, type Parameter } from './functionTable.js';
import { asItself, asType, compileSide, isNullLiteral, isTextLiteral, unify, type Side } from './operands.js';
import type { CallNode } from '../syntax/tree.js';
import {
  describe,
  family,
  isLong,
  isNative,
  isWholeNumber,
  orderable,
  textual,
  TYPES,
  widerNumber,
} from '../types.js';

/** @throws AppError FILTER_SYNTAX for an unknown name or a wrong number of arguments, FILTER_TYPE */
export function compileCall(node: CallNode, environment: Environment): Value {
  const row = functionOf(node);
  const parameters = node.args.map(
    (_, i) => row.parameters[Math.min(i, row.parameters.length - 1)] as Parameter,
  );
  const sides = node.args.map((arg) => compileSide(arg, environment));
  const values =
    alike(node, sides, parameters, environment) ??
    sides.map((side, i) => argument(side, parameters[i] as Parameter, environment));
  const args = values.map((value) => bounded(value, environment));
  if (row.search !== undefined)
    args[1] = patternOf(sides[1] as Side, args[1] as Value, row.search, environment);
  const type = typeof row.result === 'function' ? row.result(args) : row.result;
  const lengths = lengthsOf(args);
  const copies = isLong(type) ? (row.growth?.(lengths) ?? Math.max(0, ...lengths)) : 0;
  spend(environment, { copies: copiesOf(values) + copies });
  return {
    is: 'value',
    sql: row.write(...args.map((arg) => arg.sql)),
    type,
    copies,
    isStored: node.name === 'number',
    // now() and today()
    operand: args.length === 0 ? 'constant' : 'computed',
    reads: widest(args),
  };
}

/** Whether the call is null whenever an argument is. */
export function isStrictCall(node: CallNode): boolean {
  const row = FUNCTIONS.get(node.name);
  return row !== undefined && row.strict !== false;
}

/** PostgreSQL's limit. */
const MAX_ARGUMENTS = 100;

function functionOf(node: CallNode): FilterFunction {
  const row = FUNCTIONS.get(node.name);
  if (!row) {
    const hint = suggestion(node.name, [...FUNCTIONS.keys(), 'min', 'max', 'avg', 'sum', 'count']);
    throw errorAt('FILTER_SYNTAX', `There is no function "${node.name}"`, node.at, hint);
  }
  const max = row.variadic ? MAX_ARGUMENTS : row.parameters.length;
  const min = row.parameters.length - (row.optional ?? 0);
  if (node.args.length < min || node.args.length > max) {
    const takes = row.variadic
      ? node.args.length < min
        ? `at least ${min}`
        : `at most ${max}`
      : max === min
        ? String(max)
        : `${min} to ${max}`;
    const message = `${node.name} takes ${takes} argument(s), not ${node.args.length}`;
    throw errorAt('FILTER_SYNTAX', message, node.at, `${node.name}: ${row.doc}.`);
  }
  return row;
}

/** What an argument must be, and what PostgreSQL gets. */
interface ArgumentRule {
  readonly accepts: (type: ColumnType) => boolean;
  /** In words, for errors. */
  readonly wanted: string;
  readonly hint?: string;
  /** What a text literal is read as; by default it is text. */
  readonly literal?: ColumnType;
  /** The type to which the value is cast, if its own doesn't do. */
  readonly cast?: (type: ColumnType) => string | undefined;
}

const isMoment = (type: ColumnType): boolean => family(type) === 'moment';
const isInterval = (type: ColumnType): boolean => family(type) === 'interval';

const MOMENT: ArgumentRule = {
  accepts: isMoment,
  wanted: 'a date',
  literal: TYPES.timestamptz,
  cast: ({ kind }) => (kind === 'date' ? 'timestamp' : undefined),
};

const ARGUMENTS: Readonly<Record<Exclude<Parameter, 'unit' | 'wholeUnit' | 'same' | 'any'>, ArgumentRule>> = {
  text: {
    accepts: textual,
    wanted: 'text',
    hint: 'Convert it with text(…).',
    literal: TYPES.text,
    cast: ({ sqlType }) => (sqlType === 'text' ? undefined : 'text'),
  },
  number: {
    accepts: (type) => family(type) === 'number',
    wanted: 'a number',
    hint: 'Convert it with number(…).',
    literal: TYPES.numeric,
    cast: (type) => (isWholeNumber(type) ? 'int8' : undefined),
  },
  whole: { accepts: isWholeNumber, wanted: 'a whole number', literal: TYPES.int4, cast: () => 'int4' },
  moment: MOMENT,
  span: { ...MOMENT, accepts: (type) => isMoment(type) || isInterval(type) },
  interval: {
    accepts: isInterval,
    wanted: 'an interval',
    hint: "interval('7 days')",
    literal: TYPES.interval,
  },
  json: { accepts: (type) => family(type) === 'json', wanted: 'json' },
  list: { accepts: ({ array }) => array, wanted: 'a list column' },
};

function argument(side: Side, parameter: Parameter, environment: Environment): Value {
  if (parameter === 'same' || parameter === 'any') return asItself(side, environment);
  if (parameter === 'unit' || parameter === 'wholeUnit') return unit(side, UNITS[parameter], environment);
  const { accepts, wanted, hint, literal, cast } = ARGUMENTS[parameter];
  const value =
    literal && (isTextLiteral(side) || isNullLiteral(side))
      ? asType(side, literal, environment)
      : asItself(side, environment);
  if (!accepts(value.type)) throw wrong(side, value, wanted, hint);
  const castType = cast?.(value.type);
  return castType === undefined ? value : { ...value, sql: sql`${value.sql}::${typeName(castType)}` };
}

/** A unit of time, which must be written out. */
function unit({ operand, node }: Side, units: readonly string[], environment: Environment): Value {
  const expected = `one of ${units.join(', ')}`;
  if (operand.is !== 'literal' || operand.node.kind !== 'text') {
    throw errorAt('FILTER_TYPE', 'The unit must be written out', node.at, `Give ${expected}.`);
  }
  const form = (text: string): string | undefined => (units.includes(text.toLowerCase()) ? text : undefined);
  const parameter = formParameter(environment, operand.node.index, form, expected);
  return { is: 'value', sql: parameter, type: TYPES.text, operand: 'constant', reads: 'row' };
}

/** Converts arguments that must have a common type to it; undefined for other functions. */
function alike(
  node: CallNode,
  sides: readonly Side[],
  parameters: readonly Parameter[],
  environment: Environment,
): Value[] | undefined {
  if (parameters.length > 1 && parameters.every((parameter) => parameter === 'list')) {
    return searchableLists(unify(sides, environment), sides);
  }
  if (parameters[0] !== 'same') return undefined;
  const values = unify(sides, environment);
  const type = values.map((value) => value.type).reduce(commonType, values[0]?.type ?? naturalType('text'));
  if (node.name !== 'coalesce' && (type.array || !isNative(type) || !orderable(type))) {
    throw errorAt('FILTER_TYPE', `${node.name} can't be used with ${describe(type)}`, node.at);
  }
  if (family(type) !== 'json') return values.map((value) => ({ ...value, type }));
  // PostgreSQL has no common type for json and jsonb.
  return values.map((value) => ({ ...value, sql: sql`${value.sql}::pg_catalog.jsonb`, type: TYPES.jsonb }));
}

const MOMENTS = ['date', 'timestamp', 'timestamptz'];

function commonType(a: ColumnType, b: ColumnType): ColumnType {
  if (a.array) return a;
  switch (family(a)) {
    case 'number':
      // A float4 isn't the float8 of the same digits.
      return a.sqlType === b.sqlType ? a : widerNumber(a, b);
    case 'moment':
      return MOMENTS.indexOf(a.kind) >= MOMENTS.indexOf(b.kind) ? a : b;
    case 'text':
      return a.sqlType === b.sqlType ? a : TYPES.text;
    default:
      return a;
  }
}

function searchableLists(values: Value[], sides: readonly Side[]): Value[] {
  values.forEach((value, i) => {
    const searchable = value.type.array && isNative(value.type) && value.type.kind !== 'json';
    if (!searchable) throw wrong(sides[i] as Side, value, 'a list column');
  });
  return values;
}

function wrong(side: Side, { type }: Value, wanted: string, hint?: string): Error {
  return errorAt('FILTER_TYPE', `Expected ${wanted}, not ${describe(type)}`, side.node.at, hint);
}
