import { join, sql, textConstant, type Sql } from '../../db/sql/sql.js';
import type { Change } from './changeSql.js';
import type { Insertion } from './insertSql.js';
import { withReferences } from './references.js';
import { refuse, type WriteContext } from './writeContext.js';
import {
  responseOf,
  checked,
  keyTexts,
  recorded,
  writtenAlias,
  writtenRowsJson,
  type Returning,
} from './writtenRow.js';

/** The statements of a change to one row. The result is null if a trigger left the row as it was, or a conflict was ignored. */
export function rowStatements(context: WriteContext, change: Change, returning: Returning): Sql[] {
  const { keySetting } = returning;
  const row = writtenAlias(change.row);
  const value =
    keySetting === undefined
      ? responseOf(context, row, returning)
      : remember(keySetting, sql`pg_catalog.json_build_array(${keyTexts(change.row.table, row)})`);
  const referring = withReferences(context, change, [change], value);
  const rows = sql`select ${checked(change.row, referring)} from ${change.from}`;
  const write = sql`with ${join([...change.ctes, ...recorded([change])])}
    ${change.found ? sql`select coalesce((${rows}), case when not ${change.found} then ${refuse('notFound')} end)` : rows}`;
  if (keySetting === undefined) return [write];
  return [write, sql`select coalesce((${writtenRowsJson(context, returning)}), 'null')`];
}

/** The statements of several insertions whose results are one list. */
export function listStatements(
  context: WriteContext,
  insertions: readonly Insertion[],
  returning: Returning,
): Sql[] {
  const { keySetting } = returning;
  const rows = insertions.map((item) => {
    const { row, from } = item;
    const alias = writtenAlias(row);
    const value =
      keySetting === undefined
        ? responseOf(context, alias, returning)
        : sql`${keyTexts(row.table, alias)}::pg_catalog.text`;
    const referring = withReferences(context, item, insertions, value);
    return sql`select ${checked(row, referring)} as j from ${from}`;
  });
  const ctes = join([...insertions.flatMap((item) => item.ctes), ...recorded(insertions)]);
  const source = sql`from (${join(rows, ' union all ')}) w`;
  const list = sql`'[' operator(pg_catalog.||) coalesce(pg_catalog.string_agg(w.j, ','), '') operator(pg_catalog.||) ']'`;
  if (keySetting === undefined) return [sql`with ${ctes}\nselect ${list} ${source}`];
  return [
    sql`with ${ctes}\nselect ${remember(keySetting, list)} ${source}`,
    sql`select '[' operator(pg_catalog.||) coalesce((${writtenRowsJson(context, returning)}), '') operator(pg_catalog.||) ']'`,
  ];
}

/** Passes keys to the next statement, via a transaction-local setting. */
function remember(setting: string, keys: Sql): Sql {
  return sql`pg_catalog.set_config(${textConstant(setting)}, (${keys})::pg_catalog.text, true)`;
}
