import { sql, type Sql } from '../../../db/sql/sql.js';
import { compileBetween, compileCompare, compileDistinct, compileIn, compileLike } from './comparisons.js';
import type { Condition, Environment, Value } from '../environment.js';
import { errorAt } from '../syntax/errors.js';
import { asItself, asType, compileSide, refuseNull } from '../values/operands.js';
import { resolvePath } from '../rows/paths.js';
import type { FilterNode, IsNode } from '../syntax/tree.js';
import { describe, TYPES } from '../types.js';

/** Compiles a condition without AND, OR and NOT over the current rows. @throws AppError FILTER_TYPE */
export function compileTest(node: FilterNode, environment: Environment): Condition {
  switch (node.kind) {
    case 'compare':
      return compileCompare(node, environment);
    case 'distinct':
      return compileDistinct(node, environment);
    case 'in':
      return compileIn(node, environment);
    case 'like':
      return compileLike(node, environment);
    case 'between':
      return compileBetween(node, environment);
    case 'is':
      return compileIs(node, environment);
    default:
      return compileBoolean(node, environment);
  }
}

function compileIs(node: IsNode, environment: Environment): Condition {
  const not = node.negated ? sql`not ` : sql``;
  const { operand } = node;
  if (node.test !== 'null') {
    const { sql: value, reads } = compileBoolean(operand, environment);
    const word = node.test === 'true' ? sql`true` : sql`false`;
    return { sql: sql`(${value} is ${not}${word})`, indexable: false, reads };
  }
  if (operand.kind === 'path') {
    const { column, start } = resolvePath(operand, environment);
    // An absent record has null in every column.
    if (!column) return { sql: sql`(${not}(${start.alias} is null))`, indexable: false, reads: 'row' };
  }
  const value = asItself(compileSide(operand, environment), environment);
  return {
    sql: value.type.composite ? sql`(${not}${isAbsent(value.sql)})` : sql`(${value.sql} is ${not}null)`,
    indexable: value.operand === 'indexed',
    reads: value.reads,
  };
}

/** PostgreSQL's `row IS NOT NULL` would mean that all columns are non-null. */
const isAbsent = (row: Sql): Sql => sql`(${row} is not distinct from null)`;

/** A value that is a condition in itself: a boolean column, or a function such as contains. */
function compileBoolean(node: FilterNode, environment: Environment): Condition {
  const side = compileSide(node, environment);
  const { operand } = side;
  refuseNull([side]);
  if (operand.is === 'literal' && operand.node.kind === 'boolean') {
    return asCondition(asType(side, TYPES.boolean, environment));
  }
  const value = asItself(side, environment);
  if (value.type.kind !== 'boolean' || value.type.array) {
    const message = `${describe(value.type)} is not a condition`;
    throw errorAt('FILTER_TYPE', message, node.at, 'Compare it with something: column = value.');
  }
  return asCondition(value);
}

function asCondition(value: Value): Condition {
  return { sql: value.sql, indexable: value.operand === 'indexed', reads: value.reads };
}
