import { sql } from '../../../db/sql/sql.js';
import { AGGREGATES } from './aggregateTable.js';
import type { Environment, Value } from '../environment.js';
import { widest, type ReadExtent } from '../rows/readExtent.js';
import { errorAt } from '../syntax/errors.js';
import { asItself, compileSide } from './operands.js';
import { compileColumn, isToMany, joinRows, JoinedRows, resolvePath } from '../rows/paths.js';
import type { CallNode } from '../syntax/tree.js';
import { pathsOf } from '../syntax/walk.js';
import { describe, TYPES } from '../types.js';

export function isAggregate(node: CallNode): boolean {
  return AGGREGATES.has(node.name);
}

/**
 * `createdate = max(createdate)` aggregates every row of the table that the role may read, whatever else the filter says;
 * PostgreSQL computes it once. With a collection, as in `count(order_collection.id) > 3`, it aggregates the current row's
 * related rows.
 *
 * @throws AppError FILTER_TYPE, FILTER_SYNTAX
 */
export function compileAggregate(node: CallNode, environment: Environment): Value {
  if (environment.scope.aggregateColumn)
    return aggregatedColumn(node, environment.scope.aggregateColumn, environment);
  const aggregate = AGGREGATES.get(node.name);
  const [argument] = node.args;
  if (!aggregate || node.args.length !== (node.star ? 0 : 1)) {
    throw errorAt('FILTER_SYNTAX', `${node.name} takes one argument`, node.at, `Write ${node.name}(column).`);
  }
  const { joined, rows, reads } = aggregatedRows(node, environment);
  const computed = { is: 'value', operand: 'computed' } as const;
  if (!argument)
    return { ...computed, sql: joined.select(sql`pg_catalog.count(*)`), type: TYPES.int8, reads };
  const inner: Environment = { ...environment, rows, insideAggregate: true };
  const value = asItself(compileSide(argument, inner), inner);
  const type = aggregate.result(value.type);
  if (!type) {
    throw errorAt('FILTER_TYPE', `${node.name} can't be used with ${describe(value.type)}`, argument.at);
  }
  return {
    ...computed,
    sql: joined.select(aggregate.write(value.sql, value.type)),
    type,
    reads: widest([{ reads }, value]),
  };
}

/** If the rows are aggregate results, `sum(total)` is one of their columns. */
function aggregatedColumn(
  node: CallNode,
  columnOf: (node: CallNode) => string | undefined,
  environment: Environment,
): Value {
  const name = columnOf(node);
  if (name === undefined) {
    const message = `${node.name} is not the aggregate that is asked for here`;
    throw errorAt('FILTER_TYPE', message, node.at, 'Name the aggregate, or one of the keys.');
  }
  const path = { kind: 'path', at: node.at, names: [name] } as const;
  return compileColumn(resolvePath(path, environment), path, environment);
}

/** The rows to aggregate, and what the argument may refer to. */
function aggregatedRows(
  node: CallNode,
  environment: Environment,
): { joined: JoinedRows; rows: Environment['rows']; reads: ReadExtent } {
  if (environment.insideAggregate) {
    throw errorAt('FILTER_SYNTAX', "An aggregate can't be inside another", node.at);
  }
  const collections = node.args
    .flatMap((arg) => pathsOf(arg))
    .map((path) => ({ path, resolved: resolvePath(path, environment) }))
    .map((found) => ({ ...found, lastToMany: found.resolved.hops.findLastIndex(isToMany) }))
    .filter(({ lastToMany }) => lastToMany >= 0);
  const deepest = collections.reduce<(typeof collections)[number] | undefined>(
    (best, next) => (best && best.lastToMany >= next.lastToMany ? best : next),
    undefined,
  );
  if (deepest) {
    const { start, hops } = deepest.resolved;
    const { joined } = joinRows(start, hops.slice(0, deepest.lastToMany + 1), environment, deepest.path.at);
    return { joined, rows: new Map([...environment.rows, ...joined.rows]), reads: 'related' };
  }
  const root = environment.rows.get('');
  if (!root) {
    const hint = 'In a condition: count(new.order_collection.id) > 3.';
    throw errorAt('FILTER_TYPE', `${node.name} needs a collection of the record`, node.at, hint);
  }
  const joined = new JoinedRows(environment);
  const anyRow = joined.addTable(root.table, node.at);
  return { joined, rows: new Map([['', anyRow]]), reads: 'tables' };
}
