import type { Relation, Table } from '../../db/catalog/catalog.js';
import { jsonString, jsonText, templateJson } from '../../db/catalog/types.js';
import { param, sql, wholeNumber, type Sql } from '../../db/sql/sql.js';
import { AppError } from '../../foundation/errors.js';
import { atField } from '../response.js';
import { filesJson } from '../files/filesJson.js';
import { compileFilter } from '../filter/compile.js';
import type { Predicate } from '../filter/rows/scope.js';
import { compileOrdering } from '../ordering/compileOrdering.js';
import { objectText } from './jsonConcat.js';
import { tableNamed, type ReadContext } from './readContext.js';
import { allColumns, columnSql, matches, tableSql, where } from './tableSql.js';
import type { ListFilter, Page, RowSelection, SelectedField, SelectedRelation } from './selection.js';

/**
 * A list as one JSON text. The page is selected first (filter, order and limit on the table alone), then its rows are
 * rendered with their children: 1.9 ms instead of 99 ms at deep offsets. Children are scalar subqueries, which keep the
 * page's order whatever plan PostgreSQL chooses. Throws FieldError, AppError.
 */
export function listJson(
  context: ReadContext,
  selection: RowSelection,
  page: Page,
  path: readonly string[],
): Sql {
  const rows = pageOf(context, selection.table, page, from(selection.table));
  return listOf(context, selection, rows, path);
}

/** The row `alias` as JSON text, never null. */
export function rowJson(
  context: ReadContext,
  selection: RowSelection,
  alias: Sql,
  path: readonly string[],
): Sql {
  return objectText(
    selection.fields.map((field) => [field.key, fieldJson(context, field, alias, path)] as const),
  );
}

/** The condition for rows that the principal may read. Throws AppError PERMISSION_DENIED if it may not read the table. */
export function readable(context: ReadContext, table: Table, alias: Sql): Predicate | 'all' {
  const predicate = context.access.predicate(table, alias);
  if (predicate === 'none') throw notReadable(table);
  return predicate;
}

/** Fails early, before anything is compiled for a table that may not be read. Throws AppError PERMISSION_DENIED. */
export function requireReadable({ access }: ReadContext, table: Table): void {
  if (access.denies?.(table) === true) throw notReadable(table);
}

function notReadable(table: Table): AppError {
  return new AppError('PERMISSION_DENIED', `This role may not read ${table.name}.`, {
    details: { table: table.name, capability: 'select' },
  });
}

function fieldJson(
  context: ReadContext,
  field: SelectedField,
  alias: Sql,
  path: readonly string[],
): string | Sql {
  switch (field.kind) {
    case 'typename':
      return `"${field.name}"`;
    case 'column': {
      const value = columnSql(alias, field.column);
      if (field.asText) return jsonString(value);
      return context.marksNumerics ? templateJson(field.column, value) : jsonText(field.column, value);
    }
    case 'files':
      return filesJson(context, field, alias);
    case 'relation': {
      const inner = [...path, field.key];
      return atField(inner, [field.node], () => relationJson(context, field, alias, inner));
    }
  }
}

function relationJson(
  context: ReadContext,
  { relation, selection, page }: SelectedRelation,
  parent: Sql,
  path: readonly string[],
): Sql {
  if (relation.kind === 'to-one') {
    const alias = context.aliases.next();
    const condition = where([
      matches(parent, relation.pairs, alias),
      readable(context, selection.table, alias),
    ]);
    const row = rowJson(context, selection, alias, path);
    return sql`coalesce((select ${row} from ${tableSql(selection.table)} ${alias}${condition}), 'null')`;
  }
  if (!page) throw new Error(`the collection ${relation.field} has no page`);
  const rows = pageOf(context, selection.table, page, related(context, relation, selection.table, parent));
  return sql`(${listOf(context, selection, rows, path)})`;
}

function listOf(context: ReadContext, selection: RowSelection, rows: Sql, path: readonly string[]): Sql {
  const alias = context.aliases.next();
  const row = rowJson(context, selection, alias, path);
  return sql`select '[' operator(pg_catalog.||) coalesce(pg_catalog.string_agg(${row}, ','), '') operator(pg_catalog.||) ']' from (${rows}) ${alias}`;
}

/** Where a page's rows come from: FROM items for a row alias, a join condition, and policies of join tables. */
type Source = (alias: Sql) => {
  readonly from: Sql;
  readonly condition?: Sql;
  readonly policies?: readonly Predicate[];
};

function from(table: Table): Source {
  return (alias) => ({ from: sql`${tableSql(table)} ${alias}` });
}

function related(context: ReadContext, relation: Relation, target: Table, parent: Sql): Source {
  if (relation.kind !== 'many-to-many') {
    return (alias) => ({
      from: sql`${tableSql(target)} ${alias}`,
      condition: matches(parent, relation.pairs, alias),
    });
  }
  const through = tableNamed(context.catalog, relation.through);
  return (alias) => {
    const link = context.aliases.next();
    const visible = readable(context, through, link);
    const onPairs = matches(link, relation.farPairs, alias);
    const near = matches(parent, relation.nearPairs, link);
    // The join table's key consists of its two foreign keys, so no target occurs twice.
    return {
      from: sql`${tableSql(through)} ${link} join ${tableSql(target)} ${alias} on ${onPairs}`,
      condition: visible === 'all' ? near : sql`${near} and ${visible}`,
      policies: visible === 'all' ? [] : [visible],
    };
  };
}

function pageOf(context: ReadContext, table: Table, page: Page, source: Source): Sql {
  const alias = context.aliases.next();
  const rows = source(alias);
  const visible = readable(context, table, alias);
  const filter = page.filter && filterSql(context, table, alias, page.filter, rows.policies);
  const condition = where([rows.condition, visible, filter]);
  const order = compileOrdering(page.ordering, { ...context, table, alias });
  return sql`select ${allColumns(table, alias)} from ${rows.from}${condition}${order}${windowSql(page)}`;
}

/** The `limit` and `offset` of a page. */
export function windowSql({ limit, offset }: Page): Sql {
  const limited = sql` limit ${wholeNumber(limit)}`;
  return offset ? sql`${limited} offset ${param(offset, 'int8')}` : limited;
}

function filterSql(
  context: ReadContext,
  table: Table,
  alias: Sql,
  { parsed, variable }: ListFilter,
  policies: readonly Predicate[] = [],
): Sql {
  const scope = { ...context, table, alias, filterVariable: variable, policies };
  return sql`(${compileFilter(parsed.tree, parsed.literals, scope)})`;
}
