import { GraphQLList, GraphQLString, type FieldNode } from 'graphql';
import { suggestion } from 'rowpost-jinja2/suggestion';
import type { Column, Table } from '../../db/catalog/catalog.js';
import { jsonText, templateJson } from '../../db/catalog/types.js';
import { empty, identifier, join, sql, wholeNumber, type Sql } from '../../db/sql/sql.js';
import { AppError } from '../../foundation/errors.js';
import { AGGREGATES } from '../filter/values/aggregateTable.js';
import { compileFilter } from '../filter/compile.js';
import type { RowAccess } from '../filter/rows/scope.js';
import type { CallNode } from '../filter/syntax/tree.js';
import { compileOrdering, orderedValues, type OrderingScope } from '../ordering/compileOrdering.js';
import type { OrderingTerm, ParsedOrdering } from '../ordering/parseOrdering.js';
import { argumentNode, argumentValue } from '../read/argument.js';
import { objectText } from '../read/jsonConcat.js';
import { readFilter, readListArguments } from '../read/listArguments.js';
import type { ReadContext } from '../read/readContext.js';
import { readable, windowSql } from '../read/rowsSql.js';
import { allColumns, columnSql, tableSql, where } from '../read/tableSql.js';
import type { ListFilter } from '../read/selection.js';
import { GroupedRows } from './groupedRows.js';
import { resultTable, withQualifiedKeys } from './resultTable.js';
import { readSubquery, type Subquery } from './subquery.js';

/** Results need no policy of their own: the rows they were computed from were already filtered. */
const RESULTS: RowAccess = { predicate: () => 'all' };
const STRINGS = new GraphQLList(GraphQLString);

/**
 * One field of `Aggregates`, `sum(subquery: "{ orders { total customer { country } } }", …)`, as JSON text: a list of
 * objects `{"sum": …, "customer_country": …}`. Only rows that the principal may read count; a key behind a relation
 * whose row is absent or hidden is null. The SQL depends on the values of `subquery`, `ordering` and `distincton`, and
 * on the shapes of `filter` and `having`.
 *
 * @throws AppError BAD_USER_INPUT, GRAPHQL_*, FILTER_*, ORDERING_INVALID, PERMISSION_DENIED, DOCUMENT_TOO_COMPLEX
 */
export function aggregateJson(context: ReadContext, node: FieldNode): Sql {
  const name = node.name.value;
  const text = argumentValue(argumentNode(node, 'subquery'), GraphQLString, context.variables);
  if (typeof text !== 'string') throw new AppError('BAD_USER_INPUT', `${name} needs a subquery.`);
  const subquery = readSubquery(text, context.catalog);
  const given = readListArguments(context, node);
  const having = readFilter(context, argumentNode(node, 'having'));
  if (subquery.page.filter) context.filters.count(subquery.page.filter);
  const table = resultTable(name, subquery);
  const page = { ...given, ordering: orderingOf(given.ordering, subquery) };
  const alias = context.aliases.next();
  const results: OrderingScope = {
    ...context,
    access: RESULTS,
    table: withQualifiedKeys(table, subquery),
    alias,
  };
  const condition = having ? where([havingSql(results, name, subquery, having)]) : empty;
  const groups = sql`(${groupsOf(context, name, subquery, table, page.filter)}) ${alias}${condition}`;
  const rows = orderedRows(results, groups, page.ordering, distinctKeys(context, node, results.table));
  const limited = sql`${rows}${windowSql(page)}`;
  const row = context.aliases.next();
  return sql`select '[' operator(pg_catalog.||) coalesce(pg_catalog.string_agg(${resultJson(context, table, row)}, ','), '') operator(pg_catalog.||) ']' from (${limited}) ${row}`;
}

/**
 * The groups, with all their columns. `offset 0` stops PostgreSQL from pushing `having` down into them: it would evaluate
 * conditions on a key before the policy, and an error raised by a condition would reveal hidden rows.
 */
function groupsOf(
  context: ReadContext,
  name: string,
  subquery: Subquery,
  result: Table,
  filter: ListFilter | undefined,
): Sql {
  const { table, columns, page } = subquery;
  const aggregate = AGGREGATES.get(name);
  if (!aggregate) throw new Error(`there is no aggregate ${name}`);
  const rows = new GroupedRows(context, table);
  const [aggregated, ...keys] = columns.map((column) => rows.valueOf(column)) as [Sql, ...Sql[]];
  const isPaged = page.limit !== undefined || page.offset !== undefined;
  const alias = isPaged ? context.aliases.next() : rows.alias;
  const scope = { ...context, table, alias };
  const filters: ListFilter[] = [
    ...(filter ? [filter] : []),
    ...(page.filter ? [{ parsed: page.filter, variable: undefined }] : []),
  ];
  const condition = where([
    readable(context, table, alias),
    ...filters.map(
      ({ parsed, variable }) =>
        sql`(${compileFilter(parsed.tree, parsed.literals, { ...scope, filterVariable: variable })})`,
    ),
  ]);
  const order = compileOrdering(page.ordering, scope);
  const names = [...result.columns.values()].map((column) => identifier(column.sqlName));
  const values = [aggregate.write(aggregated, columns[0].column.type), ...keys];
  const results = values.map((value, i) => sql`${value} as ${names[i] ?? empty}`);
  const grouping = keys.length === 0 ? empty : sql` group by ${join(keys)}`;
  if (!isPaged) return sql`select ${join(results)} from ${rows.from()}${condition}${grouping} offset 0`;
  const limit = page.limit === undefined ? empty : sql` limit ${wholeNumber(page.limit)}`;
  const first = sql`select ${allColumns(table, alias)} from ${tableSql(table)} ${alias}${condition}${order}${limit} offset ${wholeNumber(page.offset ?? 0)}`;
  return sql`select ${join(results)} from ${rows.from(first)}${grouping} offset 0`;
}

/** The results' ordering; by default the subquery's own, restricted to the group keys. */
function orderingOf(ordering: ParsedOrdering, { columns: [, ...keys], page }: Subquery): ParsedOrdering {
  if (ordering.terms.length > 0) return ordering;
  const terms = page.ordering.terms.flatMap((term): OrderingTerm[] => {
    const name = term.path.names.join('.');
    const found = keys.find(({ path, column }) => namesOf(path, column) === name);
    return found ? [{ ...term, path: { ...term.path, names: [found.key] } }] : [];
  });
  return { terms, shape: '' };
}

function namesOf(path: Subquery['columns'][0]['path'], { name }: Column): string {
  return [...path.map((step) => step.relation.field), name].join('.');
}

/** `having` refers to the aggregate as `sum`, or as `sum(total)` or `sum(*)` if that is what is aggregated. */
function havingSql(results: OrderingScope, name: string, subquery: Subquery, having: ListFilter): Sql {
  const [{ path, column }] = subquery.columns;
  const names = namesOf(path, column);
  const aggregateColumn = ({ name: called, star, args: [arg] }: CallNode): string | undefined =>
    called === name && (star || (arg?.kind === 'path' && arg.names.join('.') === names)) ? name : undefined;
  const { parsed, variable } = having;
  return compileFilter(parsed.tree, parsed.literals, {
    ...results,
    filterVariable: variable,
    aggregateColumn,
  });
}

/** Keeps the first row of each set with equal keys, then applies the final ordering. */
function orderedRows(
  results: OrderingScope,
  from: Sql,
  ordering: ParsedOrdering,
  keys: readonly Column[],
): Sql {
  const { alias, aliases } = results;
  if (keys.length === 0) return sql`select ${alias}.* from ${from}${compileOrdering(ordering, results)}`;
  const first = keys.map(({ name }): OrderingTerm => {
    const at = { offset: 0, line: 1, column: 1 };
    return { path: { kind: 'path', at, names: [name] }, descending: false, nulls: undefined };
  });
  const byKeys = compileOrdering({ terms: [...first, ...ordering.terms], shape: '' }, results);
  const columns = join(orderedValues(first, results));
  const chosen = aliases.next();
  const order = compileOrdering(ordering, { ...results, alias: chosen });
  return sql`select ${chosen}.* from (select distinct on (${columns}) ${alias}.* from ${from}${byKeys}) ${chosen}${order}`;
}

function distinctKeys(context: ReadContext, node: FieldNode, table: Table): Column[] {
  const given = argumentValue(argumentNode(node, 'distincton'), STRINGS, context.variables);
  const names = Array.isArray(given)
    ? given.filter((name): name is string => typeof name === 'string' && name !== '')
    : [];
  // Naming one again changes nothing.
  const keys = new Set<Column>();
  for (const name of names) {
    const column = table.columns.get(name.trim());
    if (!column) {
      const hint = suggestion(name, table.columns.keys());
      throw new AppError('BAD_USER_INPUT', `distincton: the result has no "${name}".`, { hint });
    }
    keys.add(column);
  }
  return [...keys];
}

function resultJson({ marksNumerics }: ReadContext, table: Table, row: Sql): Sql {
  const valueJson = marksNumerics ? templateJson : jsonText;
  const columns = [...table.columns.values()];
  return objectText(
    columns.map((column) => [column.name, valueJson(column, columnSql(row, column))] as const),
  );
}
