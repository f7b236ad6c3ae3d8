import type { Column, ColumnType, Table } from '../../db/catalog/catalog.js';
import { AppError } from '../../foundation/errors.js';
import { AGGREGATES } from '../filter/values/aggregateTable.js';
import { describe, elementOf, family, isNative } from '../filter/types.js';
import type { Subquery, SubqueryColumn } from './subquery.js';

/**
 * The results of an aggregate as a table of their own, so that `having` and `ordering` are a filter and an ordering
 * over it. Its columns are the aggregate under its name, then the keys; the keys together are its primary key.
 *
 * @throws AppError BAD_USER_INPUT
 */
export function resultTable(aggregate: string, { table, columns: [aggregated, ...keys] }: Subquery): Table {
  const type = AGGREGATES.get(aggregate)?.result(aggregated.column.type);
  if (!type) {
    const message = `${aggregate} can't be used with ${describe(aggregated.column.type)} ("${aggregated.key}").`;
    throw new AppError('BAD_USER_INPUT', message);
  }
  // Short names: PostgreSQL truncates identifiers at 63 bytes.
  const results = [column(aggregate, 'a', type), ...keys.map((key, i) => keyColumn(key, `k${i}`))];
  const byName = new Map(results.map((result) => [result.name, result]));
  if (byName.size < results.length) {
    const message = 'Two columns of the result have one name.';
    throw new AppError('BAD_USER_INPUT', message, { hint: 'Give one of them an alias in the subquery.' });
  }
  return {
    name: `${aggregate} of ${table.name}`,
    schema: table.schema,
    sqlName: table.sqlName,
    kind: 'view',
    columns: byName,
    primaryKey: results.slice(1),
    relations: new Map(),
  };
}

/** Adds `<table>_<column>` as an alias for each key that is a column of the table itself: clients write both. */
export function withQualifiedKeys(result: Table, { table, columns: [, ...keys] }: Subquery): Table {
  const columns = new Map(result.columns);
  for (const { key, path } of keys) {
    const qualified = `${table.name}_${key}`;
    const found = result.columns.get(key);
    if (path.length === 0 && found && !columns.has(qualified)) columns.set(qualified, found);
  }
  return { ...result, columns };
}

function keyColumn({ key, column: { type } }: SubqueryColumn, sqlName: string): Column {
  const element = elementOf(type);
  const hasEquality = isNative(element) && (family(element) !== 'json' || /jsonb/.test(type.sqlType));
  if (!hasEquality)
    throw new AppError('BAD_USER_INPUT', `${describe(type)} ("${key}") can't be a group key.`);
  return column(key, sqlName, type);
}

function column(name: string, sqlName: string, type: ColumnType): Column {
  return {
    name,
    sqlName,
    type,
    nullable: true,
    hasDefault: false,
    generated: true,
    inPrimaryKey: false,
    inForeignKey: false,
    indexed: false,
  };
}
