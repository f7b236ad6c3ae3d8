import type { ColumnType } from '../../../db/catalog/catalog.js';
import { compared, comparedWithItems } from '../../../db/catalog/operators.js';
import { empty, join, sql, type Sql } from '../../../db/sql/sql.js';
import { formParameter, listParameter, naturalType } from '../values/conversions.js';
import type { Condition, Environment, Value } from '../environment.js';
import { widest } from '../rows/readExtent.js';
import { errorAt } from '../syntax/errors.js';
import { comparesIndexed } from './indexable.js';
import { bounded, copiesOf, patternOf, spend } from '../values/effort.js';
import { pattern as patternForm } from '../values/literalForms.js';
import { asType, compileSide, mismatch, refuseNull, unify, type Side } from '../values/operands.js';
import type { BetweenNode, CompareNode, DistinctNode, InNode, LikeNode } from '../syntax/tree.js';
import { describe, elementOf, family, isCitext, isNative, orderable, textual, TYPES } from '../types.js';

/** Rejects comparisons with the keyword null: `= null` and `!= null` have been rewritten to null tests by now. */
export function compileCompare(node: CompareNode, environment: Environment): Condition {
  const sides = [compileSide(node.left, environment), compileSide(node.right, environment)] as const;
  const equality = node.operator === '=' || node.operator === '!=';
  refuseNull(sides);
  const values = unify(sides, environment);
  if (equality) requireEquality(values, sides);
  else requireOrder(values, sides);
  const [left, right] = values.map((value) => comparableSql(value, equality, environment)) as [Sql, Sql];
  const comparison = node.operator === '!=' ? '<>' : node.operator;
  return {
    sql: sql`(${compared(left, comparison, right, comparedType(values))})`,
    indexable: node.operator !== '!=' && comparesIndexed(values),
    reads: widest(values),
  };
}

export function compileDistinct(node: DistinctNode, environment: Environment): Condition {
  const sides = [compileSide(node.left, environment), compileSide(node.right, environment)];
  const values = unify(sides, environment);
  requireEquality(values, sides);
  const [left, right] = values.map((value) => comparableSql(value, true, environment)) as [Sql, Sql];
  const isList = values.some(({ type }) => type.array);
  return {
    sql: isSame(left, right, isList, node.negated),
    indexable: false,
    reads: widest(values),
  };
}

export function compileBetween(node: BetweenNode, environment: Environment): Condition {
  const sides = [node.value, node.low, node.high].map((side) => compileSide(side, environment));
  refuseNull(sides);
  const values = unify(sides, environment);
  requireOrder(values, sides);
  const [value, low, high] = values.map((v) => v.sql) as [Sql, Sql, Sql];
  const type = comparedType(values);
  const within = repeated(value, (x) =>
    node.negated
      ? sql`(${compared(x, '<', low, type)} or ${compared(x, '>', high, type)})`
      : sql`(${compared(x, '>=', low, type)} and ${compared(x, '<=', high, type)})`,
  );
  return {
    sql: within,
    indexable: !node.negated && comparesIndexed(values),
    reads: widest(values),
  };
}

/** Of comparing a character with one of the pattern, in units of `strpos`. */
const LIKE_COST = 3;

/** LIKE and ILIKE on text, enums and uuids; on a list of them, some item must match. `\%` and `\_` in the pattern are literal. */
export function compileLike(node: LikeNode, environment: Environment): Condition {
  const left = compileSide(node.left, environment);
  const isList = left.operand.is === 'value' && left.operand.type.array;
  const tested = isList ? listOfTexts(left, left.operand) : asText(left, environment);
  const subject = bounded(tested, environment);
  // citext ignores case in LIKE as well.
  const caseless = node.caseless || (left.operand.is === 'value' && isCitext(left.operand.type));
  const side = compileSide(node.pattern, environment);
  refuseNull([side]);
  const { operand } = side;
  const written: Value =
    operand.is === 'literal' && operand.node.kind === 'text'
      ? {
          ...asText(side, environment),
          sql: formParameter(
            environment,
            operand.node.index,
            patternForm,
            'a pattern: it ends with a single backslash',
          ),
        }
      : asText(side, environment);
  const pattern = patternOf(side, written, LIKE_COST, environment);
  // ILIKE compares copies in lower case.
  spend(environment, { copies: copiesOf([tested]) + (caseless ? (tested.copies ?? 0) : 0) });
  if (isList) {
    const like = matchesPattern(caseless, false);
    const some = sql`exists (select from pg_catalog.unnest(${subject.sql}) item(x) where item.x::pg_catalog.text ${like} ${pattern.sql})`;
    return {
      sql: sql`(case when ${subject.sql} is not null then ${node.negated ? sql`not ` : empty}${some} end)`,
      indexable: false,
      reads: widest([subject, pattern]),
    };
  }
  return {
    sql: sql`(${subject.sql} ${matchesPattern(caseless, node.negated)} ${pattern.sql})`,
    indexable: false,
    reads: widest([subject, pattern]),
  };
}

/** `like` and its kind, which are names of operators. */
function matchesPattern(caseless: boolean, negated: boolean): Sql {
  if (negated) return caseless ? sql`operator(pg_catalog.!~~*)` : sql`operator(pg_catalog.!~~)`;
  return caseless ? sql`operator(pg_catalog.~~*)` : sql`operator(pg_catalog.~~)`;
}

/**
 * `is not distinct from`, which would look `=` up in the search_path. What is used instead takes the operator from the type,
 * as an index does; one for lists is slower.
 */
function isSame(left: Sql, right: Sql, isList: boolean, same: boolean): Sql {
  if (!isList)
    return sql`(pg_catalog.array_position(array[${left}], ${right}) is ${same ? sql`not null` : sql`null`})`;
  return sql`(${same ? empty : sql`not `}exists (select ${left} intersect select ${right}))`;
}

/** Longer values are computed once by a subquery: conditions nest, and with each level the text would double. */
const MAX_REPEATED_CHARACTERS = 200;

/** A condition that names a value more than once. */
function repeated(value: Sql, write: (value: Sql) => Sql): Sql {
  const length = value.texts.reduce((sum, text) => sum + text.length, 0);
  if (length <= MAX_REPEATED_CHARACTERS) return write(value);
  return sql`(select ${write(sql`one.x`)} from (select ${value} offset 0) one(x))`;
}

/**
 * IN with a literal list, a list column, or a list of $_PRINCIPAL. A null in the list matches null, as `= null` does;
 * without one, null is neither in the list nor not in it.
 */
export function compileIn(node: InNode, environment: Environment): Condition {
  const left = compileSide(node.left, environment);
  refuseNull([left]);
  const right = compileSide(node.right, environment);
  const { operand } = right;
  if (operand.is === 'literals') {
    const type = left.operand.is === 'value' ? left.operand.type : listType(operand.node.classes);
    const value = asType(left, type, environment);
    if (type.array) throw mismatch(type, elementOf(type), node.left.at);
    const list = listParameter(environment, operand.node, type, 'drop');
    if (!list) {
      const message = `The list can't be used with ${describe(type)}`;
      throw errorAt('FILTER_TYPE', message, node.right.at, `Give a list of ${describe(type)}.`);
    }
    return membership(
      value,
      { sql: list.sql, type: value.type },
      node.negated,
      operand.node.hasNull,
      environment,
    );
  }
  if (operand.is === 'list') return compileInExpressions(node, left, environment);
  if (operand.is === 'value' && operand.type.array) {
    const value = asType(left, elementOf(operand.type), environment);
    const list = bounded(asType(right, operand.type, environment), environment);
    spend(environment, { copies: copiesOf([operand]) });
    requireEquality([list], [right]);
    const among = { ...list, type: elementOf(list.type) };
    return {
      ...membership(value, list, node.negated, false, environment),
      indexable: !node.negated && value.operand === 'indexed' && comparesIndexed([value, among]),
      reads: widest([value, list]),
    };
  }
  throw errorAt('FILTER_TYPE', 'IN needs a list', node.right.at, 'Write IN [1, 2], or = for a single value.');
}

function membership(
  value: Value,
  { sql: array, type }: Pick<Value, 'sql' | 'type'>,
  negated: boolean,
  withNull: boolean,
  environment: Environment,
): Condition {
  const listed = comparedType([value, { type: elementOf(type) }]);
  const subject = comparableSql(value, true, environment);
  const list = isNative(value.type) ? array : sql`${array}::pg_catalog.text[]`;
  const { reads } = value;
  const comparison = negated ? '<> all' : '= any';
  const among = (x: Sql): Sql => comparedWithItems(x, comparison, list, listed);
  const orNull = (x: Sql): Sql =>
    negated ? sql`(${among(x)} and ${x} is not null)` : sql`(${among(x)} or ${x} is null)`;
  return {
    sql: withNull ? repeated(subject, orNull) : sql`(${among(subject)})`,
    indexable: !negated && comparesIndexed([value]),
    reads,
  };
}

function compileInExpressions(node: InNode, left: Side, environment: Environment): Condition {
  if (node.right.kind !== 'list') throw new Error('a list operand comes from a list');
  const sides = [left, ...node.right.items.map((item) => compileSide(item, environment))];
  refuseNull(sides);
  const values = unify(sides, environment);
  requireEquality(values, sides);
  const [subject, ...items] = values.map((value) => comparableSql(value, true, environment)) as [
    Sql,
    ...Sql[],
  ];
  const types = values.map((value) => comparedType([value, ...values.slice(0, 1)]));
  const among = repeated(subject, (x) => {
    const each = items.map((item, index) => compared(x, node.negated ? '<>' : '=', item, types[index + 1]));
    return sql`(${join(each, node.negated ? ' and ' : ' or ')})`;
  });
  return {
    sql: among,
    indexable: false,
    reads: widest(values),
  };
}

function listType(
  classes: readonly (keyof typeof TYPES & ('int4' | 'int8' | 'numeric' | 'text' | 'boolean'))[],
): ColumnType {
  const [first] = classes;
  return first === undefined ? TYPES.text : naturalType(first);
}

/** The values' type, if its own operators compare them. */
function comparedType(values: readonly Pick<Value, 'type'>[]): ColumnType | undefined {
  const [{ type } = { type: undefined }] = values;
  const isOne = type && isNative(type) && values.every((value) => value.type.sqlType === type.sqlType);
  return isOne ? type : undefined;
}

/** The parsed items of json take many times its text. */
const JSON_COPIES = 32;

/** An operand of `=` or `<`: json has neither operator, so it becomes jsonb; types without operators are compared as text. */
function comparableSql(value: Value, equality: boolean, environment: Environment): Sql {
  const { type } = value;
  if (type.array) return value.sql;
  if (equality && family(type) === 'json') {
    if (type.sqlType === 'jsonb') return value.sql;
    spend(environment, { copies: JSON_COPIES * (value.copies ?? 0) });
    return sql`${bounded(value, environment).sql}::pg_catalog.jsonb`;
  }
  return isNative(type) ? value.sql : sql`${value.sql}::pg_catalog.text`;
}

function asText(side: Side, environment: Environment): Value {
  const value = side.operand.is === 'value' ? side.operand : asType(side, TYPES.text, environment);
  if (!textual(value.type)) {
    throw errorAt(
      'FILTER_TYPE',
      `LIKE compares text, not ${describe(value.type)}`,
      side.node.at,
      'Convert it with text(…).',
    );
  }
  return { ...value, sql: value.type.sqlType === 'text' ? value.sql : sql`${value.sql}::pg_catalog.text` };
}

/** Throws AppError FILTER_TYPE. */
function listOfTexts({ node }: Side, value: Value): Value {
  if (textual(elementOf(value.type))) return value;
  throw errorAt('FILTER_TYPE', `LIKE compares text, not ${describe(value.type)}`, node.at);
}

function requireEquality(values: readonly Value[], sides: readonly Side[]): void {
  const [value] = values;
  if (!value?.type.array || (isNative(value.type) && value.type.kind !== 'json')) return;
  throw errorAt('FILTER_TYPE', `${describe(value.type)} can't be compared`, (sides[0] as Side).node.at);
}

function requireOrder(values: readonly Value[], sides: readonly Side[]): void {
  const at = values.findIndex(({ type }) => !orderable(type));
  const value = values[at];
  const side = sides[at];
  if (value && side) {
    throw errorAt(
      'FILTER_TYPE',
      `${describe(value.type)} has no order`,
      side.node.at,
      'Compare with = or !=.',
    );
  }
}
