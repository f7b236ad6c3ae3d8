import type { ColumnType } from '../../../db/catalog/catalog.js';
import { join, sql, type Sql } from '../../../db/sql.js';
import { formParameter, listParameter, naturalType } from '../values/conversions.js';
import type { Condition, Environment, Value } from '../environment.js';
import { widest } from '../rows/readExtent.js';
import { errorAt } from '../syntax/errors.js';
import { comparesIndexed } from './indexable.js';
import { pattern as patternForm } from '../values/literalForms.js';
import { asType, compileSide, isNullLiteral, mismatch, unify, type Side } from '../values/operands.js';
import type {
  BetweenNode,
  CompareNode,
  CompareOperator,
  DistinctNode,
  InNode,
  LikeNode,
} from '../syntax/tree.js';
import { describe, elementOf, family, isCitext, isNative, orderable, textual, TYPES } from '../types.js';

const OPERATORS: Readonly<Record<CompareOperator, Sql>> = {
  '=': sql`=`,
  '!=': sql`<>`,
  '<': sql`<`,
  '>': sql`>`,
  '<=': sql`<=`,
  '>=': sql`>=`,
};

/** Rejects comparisons with the keyword null: `= null` and `!= null` have been rewritten to null tests by now. */
export function compileCompare(node: CompareNode, environment: Environment): Condition {
  const sides = [compileSide(node.left, environment), compileSide(node.right, environment)] as const;
  const equality = node.operator === '=' || node.operator === '!=';
  refuseNull(sides);
  const values = unify(sides, environment);
  if (equality) requireEquality(values, sides);
  else requireOrder(values, sides);
  const [left, right] = values.map((value) => comparableSql(value, equality)) as [Sql, Sql];
  return {
    sql: sql`(${left} ${OPERATORS[node.operator]} ${right})`,
    indexable: node.operator !== '!=' && comparesIndexed(values),
    reads: widest(values),
  };
}

export function compileDistinct(node: DistinctNode, environment: Environment): Condition {
  const sides = [compileSide(node.left, environment), compileSide(node.right, environment)];
  const values = unify(sides, environment);
  requireEquality(values, sides);
  const [left, right] = values.map((value) => comparableSql(value, true)) as [Sql, Sql];
  const operator = node.negated ? sql`is not distinct from` : sql`is distinct from`;
  return { sql: sql`(${left} ${operator} ${right})`, indexable: false, reads: widest(values) };
}

export function compileBetween(node: BetweenNode, environment: Environment): Condition {
  const sides = [node.value, node.low, node.high].map((side) => compileSide(side, environment));
  refuseNull(sides);
  const values = unify(sides, environment);
  requireOrder(values, sides);
  const [value, low, high] = values.map((v) => v.sql) as [Sql, Sql, Sql];
  const operator = node.negated ? sql`not between` : sql`between`;
  return {
    sql: sql`(${value} ${operator} ${low} and ${high})`,
    indexable: !node.negated && comparesIndexed(values),
    reads: widest(values),
  };
}

/** LIKE and ILIKE on text, enums and uuids; on a list of them, some item must match. `\%` and `\_` in the pattern are literal. */
export function compileLike(node: LikeNode, environment: Environment): Condition {
  const left = compileSide(node.left, environment);
  const isList = left.operand.is === 'value' && left.operand.type.array;
  const subject = isList ? listOfTexts(left, left.operand) : asText(left, environment);
  const side = compileSide(node.pattern, environment);
  refuseNull([side]);
  const { operand } = side;
  const pattern =
    operand.is === 'literal' && operand.node.kind === 'text'
      ? {
          sql: formParameter(
            environment,
            operand.node.index,
            patternForm,
            'a pattern: it ends with a single backslash',
          ),
          reads: 'row' as const,
        }
      : asText(side, environment);
  // citext ignores case in LIKE as well.
  const caseless = node.caseless || (left.operand.is === 'value' && isCitext(left.operand.type));
  const operator = caseless ? sql`ilike` : sql`like`;
  const not = node.negated ? sql`not ` : sql``;
  if (isList) {
    const some = sql`exists (select from unnest(${subject.sql}) item(x) where item.x::text ${operator} ${pattern.sql})`;
    return {
      sql: sql`(case when ${subject.sql} is not null then ${not}${some} end)`,
      indexable: false,
      reads: widest([subject, pattern]),
    };
  }
  return {
    sql: sql`(${subject.sql} ${not}${operator} ${pattern.sql})`,
    indexable: false,
    reads: widest([subject, pattern]),
  };
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
      const message = `The list does not go with ${describe(type)}`;
      throw errorAt('FILTER_TYPE', message, node.right.at, `Give a list of ${describe(type)}.`);
    }
    return membership(value, list.sql, node.negated, operand.node.hasNull);
  }
  if (operand.is === 'list') return compileInExpressions(node, left, environment);
  if (operand.is === 'value' && operand.type.array) {
    const value = asType(left, elementOf(operand.type), environment);
    const list = asType(right, operand.type, environment);
    requireEquality([list], [right]);
    const among = { ...list, type: elementOf(list.type) };
    return {
      ...membership(value, list.sql, node.negated, false),
      indexable: !node.negated && value.operand === 'indexed' && comparesIndexed([value, among]),
      reads: widest([value, list]),
    };
  }
  throw errorAt('FILTER_TYPE', 'IN needs a list', node.right.at, 'Write IN [1, 2], or = for a single value.');
}

function membership(value: Value, array: Sql, negated: boolean, withNull: boolean): Condition {
  const subject = comparableSql(value, true);
  const list = isNative(value.type) ? array : sql`${array}::text[]`;
  const { reads } = value;
  if (negated) {
    const outside = sql`${subject} <> all (${list})`;
    const written = withNull ? sql`(${outside} and ${subject} is not null)` : sql`(${outside})`;
    return { sql: written, indexable: false, reads };
  }
  const inside = sql`${subject} = any (${list})`;
  const written = withNull ? sql`(${inside} or ${subject} is null)` : sql`(${inside})`;
  return { sql: written, indexable: comparesIndexed([value]), reads };
}

function compileInExpressions(node: InNode, left: Side, environment: Environment): Condition {
  if (node.right.kind !== 'list') throw new Error('a list operand comes from a list');
  const sides = [left, ...node.right.items.map((item) => compileSide(item, environment))];
  refuseNull(sides);
  const values = unify(sides, environment);
  requireEquality(values, sides);
  const [subject, ...items] = values.map((value) => comparableSql(value, true)) as [Sql, ...Sql[]];
  const operator = node.negated ? sql`not in` : sql`in`;
  return {
    sql: sql`(${subject} ${operator} (${join(items, ', ')}))`,
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

/** An operand of `=` or `<`: json has neither operator, so it becomes jsonb; types without operators are compared as text. */
function comparableSql({ sql: value, type }: Value, equality: boolean): Sql {
  if (type.array) return value;
  if (equality && family(type) === 'json') return sql`${value}::jsonb`;
  return isNative(type) ? value : sql`${value}::text`;
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
  return { ...value, sql: value.type.sqlType === 'text' ? value.sql : sql`${value.sql}::text` };
}

/** Throws AppError FILTER_TYPE. */
function listOfTexts({ node }: Side, value: Value): Value {
  if (textual(elementOf(value.type))) return value;
  throw errorAt('FILTER_TYPE', `LIKE compares text, not ${describe(value.type)}`, node.at);
}

function refuseNull(sides: readonly Side[]): void {
  for (const side of sides) {
    if (isNullLiteral(side)) {
      throw errorAt('FILTER_TYPE', 'null does not go here', side.node.at, 'Write IS NULL or IS NOT NULL.');
    }
  }
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
