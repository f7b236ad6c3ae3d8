import type { Column, Table } from '../../db/catalog/catalog.js';
import { equal, nullWhen } from '../../db/catalog/operators.js';
import { fullSqlType } from '../../db/catalog/types.js';
import { join, param, quoted, sql, textConstant, typeName, wholeNumber, type Sql } from '../../db/sql/sql.js';
import { readable, rowJson } from '../read/rowsSql.js';
import { columnSql, comparedSql, tableSql } from '../read/tableSql.js';
import { rowKey } from '../files/rowKey.js';
import { recordJson, recordKey } from '../read/recordJson.js';
import type { RowSelection } from '../read/selection.js';
import { refuse, type WriteContext } from './writeContext.js';

type Operation = 'insert' | 'update' | 'delete';

/** One changed row as the final select of a write sees it. The SQL fields are whole-row aliases. */
export interface WrittenRow {
  readonly table: Table;
  /** `wasThere` if only PostgreSQL knows whether the row was updated or inserted. */
  readonly operation: Operation | { readonly wasThere: Sql };
  readonly old?: Sql;
  /** Where to read the old row's columns if `old` is an expression, which has none. */
  readonly oldColumns?: Sql;
  readonly changed?: Sql;
  /** The columns that were given. */
  readonly given?: readonly Column[];
  /** What the resulting row must satisfy. */
  readonly check: Sql | 'all';
}

/** How a written row is returned: by the write itself, or by a second statement of the same transaction. */
export interface Returning {
  readonly selection: RowSelection;
  readonly path: readonly string[];
  /**
   * The setting that passes the keys of written rows to the second statement. It is needed because a statement can't see
   * its own writes, and so can't read relations of new rows.
   */
  readonly keySetting?: string;
}

/** Changed rows, and the FROM items that provide them. */
export interface WrittenRows {
  readonly from: Sql;
  readonly row: WrittenRow;
}

/**
 * The CTE that writes the events of all rows, in order; none if `checked` writes them. The tenant, number and time of an
 * event are set by the database: the view has no columns for them.
 */
export function recorded(written: readonly WrittenRows[]): readonly Sql[] {
  if (written.some(({ row }) => row.table.fileColumn)) return [];
  const events = written.map(
    ({ from, row }) => sql`select ${eventOf(row)} from ${from} where ${isRecordedHere(row)}`,
  );
  return [
    sql`recorded as (insert into rowpost_tenant.event (roleid, operation, target, key, old, new) ${join(events, ' union all ')})`,
  ];
}

/** Evaluates to `value` if the row satisfies the policy, and fails the statement otherwise. */
export function checked(row: WrittenRow, value: Sql): Sql {
  const given = row.table.fileColumn
    ? sql`case when ${captureFileRow(row)} operator(pg_catalog.>) 0 then ${value} end`
    : value;
  return row.check === 'all'
    ? given
    : sql`case when ${row.check} then ${given} else ${refuse('policyDenied')} end`;
}

/** The result for one row: its JSON, or `null` if the principal may not read it. */
export function responseOf(context: WriteContext, row: Sql, { selection, path }: Returning): Sql {
  const visible = context.access.predicate(selection.table, row);
  if (visible === 'none') return sql`'null'`;
  const json = rowJson(context, selection, row, path);
  return visible === 'all' ? json : sql`case when ${visible} then ${json} else 'null' end`;
}

/** The row's key as a JSON array of texts, for the second statement. */
export function keyTexts(table: Table, row: Sql): Sql {
  const texts = table.primaryKey.map((column) => sql`${columnSql(row, column)}::pg_catalog.text`);
  return sql`pg_catalog.json_build_array(${join(texts)})`;
}

/** The second statement: the written rows in order, comma-separated; `null` for one that may not be read. */
export function writtenRowsJson(context: WriteContext, { selection, path, keySetting = '' }: Returning): Sql {
  const { table } = selection;
  const alias = context.aliases.next();
  const setting = sql`pg_catalog.current_setting(${textConstant(keySetting)}, true)`;
  const keys = sql`pg_catalog.json_array_elements(${nullWhen(setting, sql`''`)}::pg_catalog.json)`;
  const equalities = table.primaryKey.map((column, index) => {
    const text = sql`(k.key operator(pg_catalog.->>) ${wholeNumber(index)})`;
    const key = sql`${text}::${typeName(fullSqlType(column.type))}`;
    return equal(comparedSql(alias, column), key, column.type);
  });
  const visible = readable(context, table, alias);
  const conditions = visible === 'all' ? equalities : [...equalities, visible];
  // A null key means that the left join found no row. `is not null` would be false of a composite one that holds a null.
  const [first] = table.primaryKey;
  const isThere = first ? sql`${columnSql(alias, first)} is distinct from null` : sql`false`;
  const row = sql`case when ${isThere} then ${rowJson(context, selection, alias, path)} else 'null' end`;
  return sql`select pg_catalog.string_agg(${row}, ',' order by k.n)
    from ${keys} with ordinality k(key, n) left join ${tableSql(table)} ${alias} on ${join(conditions, ' and ')}`;
}

/** The row in the result: after the change, or before its deletion. */
export function writtenAlias({ changed, old }: WrittenRow): Sql {
  const alias = changed ?? old;
  if (!alias) throw new Error('a change has a row before or after it');
  return alias;
}

const ROLEID = param((inputs) => inputs.principal['roleid'], 'int4');

/** Values of the columns of `rowpost_tenant.event`. */
function eventOf(written: WrittenRow): Sql {
  const { table, operation, old, oldColumns, changed } = written;
  const row = writtenAlias(written);
  const nothing = sql`null::pg_catalog.json`;
  const before = old ? recordJson(table, old, oldColumns) : nothing;
  const after = changed ? recordJson(table, changed, oldColumns && changed) : nothing;
  return sql`${ROLEID}, ${byOperation(operation, textConstant)}, ${textConstant(table.name)}, ${recordKey(table, row)}, ${before}, ${after}`;
}

/** Whether no trigger of the table writes the event; if one does, tells it the role. PostgreSQL evaluates it at plan time, see `rowpost_tenant.is_captured`. */
function isRecordedHere({ table, operation }: WrittenRow): Sql {
  const relation = textConstant(quoted(table.schema, table.sqlName));
  const tellRole = sql`(select pg_catalog.set_config('rowpost.roleid', ${ROLEID}::pg_catalog.text, true))`;
  return byOperation(
    operation,
    (name) =>
      sql`(not rowpost_tenant.is_captured(${relation}::pg_catalog.regclass, ${textConstant(name)}) or ${tellRole} is null)`,
  );
}

function byOperation(operation: WrittenRow['operation'], render: (name: Operation) => Sql): Sql {
  return typeof operation === 'string'
    ? render(operation)
    : sql`case when ${operation.wasThere} then ${render('update')} else ${render('insert')} end`;
}

/** Null where an upsert found no row before: somebody inserted it since the statement began. */
function keyBefore(table: Table, old: Sql): Sql {
  const [first] = table.primaryKey;
  return first
    ? sql`case when ${columnSql(old, first)} is not null then ${rowKey(table, old)} end`
    : rowKey(table, old);
}

/** Deletes the row's files with it, or moves them to its new key; the same call writes its event. */
function captureFileRow(written: WrittenRow): Sql {
  const { table, old, oldColumns } = written;
  const oldKey = old ? keyBefore(table, oldColumns ?? old) : sql`null`;
  return sql`rowpost_tenant.capture_file_row_change(${eventOf(written)}, ${textConstant(table.sqlName)}, ${oldKey})`;
}
