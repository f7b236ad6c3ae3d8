import type { Column, Table, UniqueKey } from '../../db/catalog/catalog.js';
import { equal } from '../../db/catalog/operators.js';
import {
  assignment,
  empty,
  identifier,
  join,
  param,
  sql,
  typeName,
  type Slot,
  type Sql,
} from '../../db/sql/sql.js';
import { AppError } from '../../foundation/errors.js';
import { columnSql, comparedSql, tableSql, where } from '../read/tableSql.js';
import { fromRecord, slotOfRows, valueSql, type ManyRows } from './inputValues.js';
import { changeable, refuse, type WriteContext } from './writeContext.js';
import type { WrittenRows } from './writtenRow.js';

export type OnConflict = 'fail' | 'update' | 'ignore';

/** Rows to insert, all with the same columns. `select` returns them with the columns under their SQL names. */
export interface GivenRows {
  readonly columns: readonly Column[];
  /** Undefined when no column is given. */
  readonly select: Sql | undefined;
}

/** The CTEs of an insert, and the rows they produce under `alias`. */
export interface Insertion extends WrittenRows {
  readonly ctes: readonly Sql[];
}

/** One row, each value a parameter. */
export function oneRow(columns: readonly Column[], slotOf: (column: Column) => Slot): GivenRows {
  const values = columns.map(
    (column) => sql`${valueSql(column, slotOf(column))} as ${identifier(column.sqlName)}`,
  );
  return { columns, select: values.length === 0 ? undefined : sql`select ${join(values)}` };
}

/** Many rows as one parameter, a JSON list. */
export function manyRows(columns: readonly Column[], rows: ManyRows['rows']): GivenRows {
  const record = identifier('r');
  const parsed = columns.map((column) => {
    const name = identifier(column.sqlName);
    const { recordType, value } = fromRecord(column.type, columnSql(record, column));
    return { definition: sql`${name} ${typeName(recordType)}`, value: sql`${value} as ${name}` };
  });
  const values = parsed.map((column) => column.value);
  const definition = parsed.map((column) => column.definition);
  const json = param(slotOfRows({ columns, rows }), 'json');
  if (columns.length === 0)
    return { columns, select: sql`select from pg_catalog.json_array_elements(${json})` };
  return {
    columns,
    select: sql`select ${join(values)} from pg_catalog.json_to_recordset(${json}) as ${record}(${join(definition)})`,
  };
}

/** @param suffix distinguishes the CTEs of several insertions in one statement */
export function insertion(
  context: WriteContext,
  table: Table,
  given: GivenRows,
  onConflict: OnConflict,
  suffix = '',
): Insertion {
  const name = (word: string): Sql => identifier(`${word}${suffix}`);
  const columns = join(given.columns.map((column) => identifier(column.sqlName)));
  const insertFrom = (source: Sql): Sql => {
    if (!given.select) return sql`insert into ${tableSql(table)} as t default values`;
    const named = given.columns.length === 0 ? empty : sql`(${columns})`;
    return sql`insert into ${tableSql(table)} as t${named} ${source}`;
  };
  const written = name('written');
  if (onConflict !== 'update') {
    const insert = insertFrom(given.select ?? empty);
    const ignore = onConflict === 'ignore' ? sql` on conflict do nothing` : sql``;
    const check = changeable(context, 'insert', table, written);
    return {
      ctes: [sql`${written} as (${insert}${ignore} returning t.*)`],
      from: written,
      row: { table, operation: 'insert', changed: written, given: given.columns, check },
    };
  }
  // Read twice: to insert the rows, and to find existing ones.
  const ctes = given.select ? [sql`${name('given')} as materialized (${given.select})`] : [];
  const insert = insertFrom(sql`select ${columns} from ${name('given')}`);
  return upsert(context, table, given, { ctes, insert, written, prior: name('prior'), given: name('given') });
}

/** xmax is 0 for inserted rows, which no transaction has deleted or locked. */
const IS_UPDATED = sql`t.xmax operator(pg_catalog.<>) 0`;

/**
 * PostgreSQL can't return xmax of rows that it routes to partitions. Instead, the condition of an update notes that it is
 * one, for the same row's `returning`.
 */
const NOTE_UPDATE = sql`pg_catalog.set_config('rowpost.upsert', 'update', true) is not null`;
const UPDATE_NOTED = sql`case when pg_catalog.current_setting('rowpost.upsert', true) operator(pg_catalog.=) 'update'
  then pg_catalog.set_config('rowpost.upsert', '', true) operator(pg_catalog.=) '' else false end`;

/** Updates an existing row with the same key; its event is then an update. */
function upsert(
  context: WriteContext,
  table: Table,
  rows: GivenRows,
  parts: { ctes: readonly Sql[]; insert: Sql; written: Sql; prior: Sql; given: Sql },
): Insertion {
  const { written, prior, given } = parts;
  const { columns: key, nullsNotDistinct } = conflictKey(table, rows.columns);
  const names = key.map((column) => identifier(column.sqlName));
  const others = rows.columns.filter((column) => !key.includes(column));
  const set = (others.length > 0 ? others : key).map(({ sqlName }) =>
    assignment(sqlName, identifier('excluded', sqlName)),
  );
  const target = identifier('t');
  const same = (one: Sql, other: Sql): Sql => {
    const columnsEqual = key.map((column) => {
      const [a, b] = [comparedSql(one, column), comparedSql(other, column)];
      // `is not distinct from` would not use the index.
      const isEqual = equal(a, b, column.type);
      return nullsNotDistinct && column.nullable
        ? sql`(${isEqual} or ${a} is null and ${b} is null)`
        : isEqual;
    });
    return join(columnsEqual, ' and ');
  };
  const old = identifier('p');
  // Locked, so that the recorded old row is exactly the one the update replaces.
  const priorRows = sql`select p.* from ${tableSql(table)} p join ${given} on ${same(old, given)} for update of p`;
  const noted = table.partitioned ? NOTE_UPDATE : 'all';
  const updatable = changeable(context, 'update', table, target);
  // PostgreSQL would skip a row that may not be updated, as it does one that a trigger leaves as it is.
  const allowed =
    updatable === 'all'
      ? updatable
      : sql`case when ${updatable} then true else ${refuse('policyDenied')} is null end`;
  const update = sql`on conflict (${join(names)}) do update set ${join(set)}${where([allowed, noted])}`;
  const row = sql`(${written}.row)`;
  const insertCheck = changeable(context, 'insert', table, row);
  const updateCheck = changeable(context, 'update', table, row);
  const either = (reach: Sql | 'all'): Sql => (reach === 'all' ? sql`true` : reach);
  return {
    ctes: [
      ...parts.ctes,
      sql`${prior} as materialized (${priorRows})`,
      // Existing rows must be read before the insert changes them, so the insert has reading them as a condition.
      sql`${written} as (${parts.insert} where (select pg_catalog.count(*) from ${prior}) operator(pg_catalog.>=) 0 ${update} returning coalesce(t.*) as row, ${table.partitioned ? UPDATE_NOTED : IS_UPDATED} as updated)`,
    ],
    from: sql`${written} left join ${prior} on ${same(prior, row)}`,
    row: {
      table,
      operation: { wasThere: sql`${written}.updated` },
      old: sql`(case when ${written}.updated then ${prior}.* end)`,
      oldColumns: prior,
      changed: row,
      given: rows.columns,
      check:
        insertCheck === 'all' && updateCheck === 'all'
          ? 'all'
          : sql`case when ${written}.updated then ${either(updateCheck)} else ${either(insertCheck)} end`,
    },
  };
}

/** The key that identifies existing rows: the primary key if the input has it, otherwise a unique key. */
function conflictKey({ primaryKey, uniqueKeys = [], name }: Table, given: readonly Column[]): UniqueKey {
  const keys = [{ columns: primaryKey, nullsNotDistinct: false }, ...uniqueKeys];
  const key = keys.find(({ columns }) => columns.every((column) => given.includes(column)));
  if (key) return key;
  throw new AppError('BAD_USER_INPUT', 'onconflict: update needs the primary key or a unique key in input.', {
    details: { table: name, argument: 'onconflict' },
  });
}
