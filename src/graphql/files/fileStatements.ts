import { namedFileColumn, type Column, type Table } from '../../db/catalog/catalog.js';
import { equal } from '../../db/catalog/operators.js';
import { fullSqlType, recordOf } from '../../db/catalog/types.js';
import {
  assignment,
  identifier,
  join,
  param,
  sql,
  textConstant,
  typeName,
  type Slot,
  type Sql,
} from '../../db/sql/sql.js';
import { keyWithin } from '../filter/rows/securityBarrier.js';
import type { Predicate } from '../filter/rows/scope.js';
import { recordJson } from '../read/recordJson.js';
import { comparedSql, equalIn, tableSql, where } from '../read/tableSql.js';
import { refuse } from '../write/writeContext.js';
import { rowKey } from './rowKey.js';

/*
 * Statements on the files of one row. Each starts by reading the row as `prior`; those that change files lock it, which
 * serializes changes to a row's files. If there is no such row, they do nothing.
 */

export const T = identifier('t');
export const PRIOR = identifier('prior');

type Reach = Predicate | 'all';

/** @param reach a condition on `t` */
export function priorRow(table: Table, isRow: Sql, reach: Reach, lock: 'lock' | 'read'): Sql {
  const locking = lock === 'lock' ? sql` for no key update of t` : sql``;
  return sql`prior as materialized (select t.* from ${tableSql(table)} t${where([keyWithin(reach, isRow)])}${locking})`;
}

/** Whether `t` is the row with this key, a JSON object by SQL names. */
function keyIs(table: Table, keyJson: Slot): Sql {
  const given = identifier('k');
  const record = recordOf(table.primaryKey, param(keyJson, 'json'), given);
  const same = table.primaryKey.map((column) =>
    equal(comparedSql(T, column), sql`(select ${comparedSql(given, column)} from ${record})`, column.type),
  );
  return sql`(${join(same, ' and ')})`;
}

/** Returns one row if the principal can reach the row, else none. */
export function reachedRow(table: Table, keyJson: Slot, reach: Reach): Sql {
  return sql`select '1' from ${tableSql(table)} t${where([keyWithin(reach, keyIs(table, keyJson))])}`;
}

/** The stored file as the statement's parameter. */
export interface RecordSlots {
  readonly keyJson: Slot;
  readonly roleid: Slot;
  readonly storagekey: Slot;
  readonly objectkey: Slot;
  readonly mimetype: Slot;
  readonly size: Slot;
  readonly sha256: Slot;
}

/** Writes the file's record, its event and the row's file column, or none of them. Returns the file as JSON text. */
export function recordFile(table: Table, slots: RecordSlots, reach: Reach): Sql {
  const column = namedFileColumn(table);
  const prior = priorRow(table, keyIs(table, slots.keyJson), reach, 'lock');
  const changed = column
    ? [setColumn(table, column, param(slots.storagekey, fullSqlType(column.type)), sql``)]
    : [];
  const row = column ? identifier('changed') : PRIOR;
  const file = sql`rowpost_tenant.record_file(${join([
    param(slots.roleid, 'int4'),
    param(slots.storagekey, 'uuid'),
    param(slots.objectkey, 'text'),
    param(slots.mimetype, 'text'),
    param(slots.size, 'int8'),
    param(slots.sha256, 'bytea'),
    textConstant(table.name),
    sql`${rowKey(table, row)}::pg_catalog.json`,
    recordJson(table, PRIOR),
    recordJson(table, row),
  ])})::pg_catalog.text`;
  const from = column ? sql`prior cross join changed` : PRIOR;
  // The upload event stands for this change, so capture triggers must skip it.
  const recorded = sql`case when pg_catalog.set_config('rowpost.uploading', 'on', true) operator(pg_catalog.=) 'on' then ${file} end`;
  return sql`with ${join([prior, ...changed])}
    select coalesce((select coalesce(${recorded}, ${refuse('uploadGone')}) from ${from}), ${refuse('notFound')})`;
}

/**
 * Deletes a file of the row and points its file column at the newest remaining one. Returns the deleted file as rendered
 * by `json`.
 */
export function dropFile(
  table: Table,
  prior: Sql,
  { storagekey, filenum }: { readonly storagekey: Sql; readonly filenum: Sql },
  json: (file: Sql) => Sql,
): Sql {
  const target = textConstant(table.sqlName);
  const dropped = sql`dropped as materialized (select d.* from prior,
    lateral rowpost_tenant.drop_files(${target}, ${rowKey(table, PRIOR)}, ${storagekey}, ${filenum}) d)`;
  const column = namedFileColumn(table);
  // files_of still sees the rows that this statement deletes.
  const left = sql`(select f.storagekey from rowpost_tenant.files_of(${target}, ${rowKey(table, PRIOR)}) f
    where not f.storagekey operator(pg_catalog.=) any (select d.storagekey from dropped d) order by f.createtime desc, f.filenum desc limit 1)`;
  const changed = column
    ? [
        setColumn(
          table,
          column,
          sql`${left}::pg_catalog.text::${typeName(fullSqlType(column.type))}`,
          sql` and exists (select from dropped)`,
        ),
      ]
    : [];
  return sql`with ${join([prior, dropped, ...changed])}
    select coalesce((select ${json(identifier('dropped'))} from prior cross join dropped), ${refuse('notFound')})`;
}

function setColumn(table: Table, column: Column, value: Sql, condition: Sql): Sql {
  return sql`changed as (update ${tableSql(table)} t set ${assignment(column.sqlName, value)}
    from prior where ${equalIn(table.primaryKey, T, PRIOR)}${condition} returning t.*)`;
}
