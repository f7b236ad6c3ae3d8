import type { Column, Table } from '../../db/catalog/catalog.js';
import { equal } from '../../db/catalog/operators.js';
import { fullSqlType } from '../../db/catalog/types.js';
import { assignment, identifier, join, param, sql, type Slot, type Sql } from '../../db/sql/sql.js';
import { keyWithin } from '../filter/rows/securityBarrier.js';
import { comparedSql, equalIn, tableSql, where } from '../read/tableSql.js';
import { keySlot, valueSql } from './inputValues.js';
import { changeable, type WriteContext } from './writeContext.js';
import type { WrittenRows } from './writtenRow.js';

type SlotOf = (column: Column) => Slot;

/** The CTEs of a change to one row, and the rows they produce. */
export interface Change extends WrittenRows {
  readonly ctes: readonly Sql[];
  /** Whether there is such a row. Triggers may leave it as it is. */
  readonly found?: Sql;
}

/** Locks and changes the row in one statement, so that the recorded old row is exactly the one replaced. */
export function updateByKey(
  context: WriteContext,
  table: Table,
  keyOf: SlotOf,
  columns: readonly Column[],
  valueSlot: SlotOf,
): Change {
  const t = identifier('t');
  const prior = identifier('prior');
  const changed = identifier('changed');
  const condition = where([keyWithin(changeable(context, 'update', table, t), byKey(table, t, keyOf))]);
  // The weaker lock doesn't block rows that reference this one; it suffices unless the key changes.
  const lock = columns.some((column) => column.inPrimaryKey)
    ? sql`for update of t`
    : sql`for no key update of t`;
  const set = columns.map((column) => assignment(column.sqlName, valueSql(column, valueSlot(column))));
  const same = equalIn(table.primaryKey, t, prior);
  return {
    ctes: [
      sql`prior as materialized (select t.* from ${tableSql(table)} t${condition} ${lock})`,
      sql`changed as (update ${tableSql(table)} t set ${join(set)} from prior where ${same} returning t.*)`,
    ],
    found: sql`exists (select from prior)`,
    from: sql`prior cross join changed`,
    row: {
      table,
      operation: 'update',
      old: prior,
      changed,
      given: columns,
      check: changeable(context, 'update', table, changed),
    },
  };
}

/** Relations selected with the row are read by the same statement, which sees them as they were before the deletion. */
export function deleteByKey(context: WriteContext, table: Table, keyOf: SlotOf): Change {
  const t = identifier('t');
  const isMeant = keyWithin(changeable(context, 'delete', table, t), byKey(table, t, keyOf));
  const gone = identifier('gone');
  return {
    ctes: [sql`gone as (delete from ${tableSql(table)} t where ${isMeant} returning t.*)`],
    // Without such a trigger, another transaction has deleted the row since the statement began.
    found: sql`exists (select from ${tableSql(table)} t where ${isMeant} and ${MAY_BE_KEPT})`,
    from: gone,
    row: { table, operation: 'delete', old: gone, check: 'all' },
  };
}

/** Whether the row's table, which may be a partition, has a trigger that may keep it: one for rows (1), before (2) a delete (8). */
const MAY_BE_KEPT = sql`exists (select from pg_catalog.pg_trigger g where g.tgrelid operator(pg_catalog.=) t.tableoid
  and (g.tgtype operator(pg_catalog.&) 11::pg_catalog.int2) operator(pg_catalog.=) 11)`;

/** The condition for the row with this key. */
export function byKey(table: Table, alias: Sql, keyOf: SlotOf): Sql {
  return join(
    table.primaryKey.map((column) => {
      const given = param(keySlot(column, keyOf(column)), fullSqlType(column.type));
      return equal(comparedSql(alias, column), given, column.type);
    }),
    ' and ',
  );
}
