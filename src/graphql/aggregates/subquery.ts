import {
  GraphQLError,
  GraphQLList,
  GraphQLString,
  Kind,
  parse,
  valueFromAST,
  type DocumentNode,
  type FieldNode,
  type GraphQLInputType,
} from 'graphql';
import { suggestion } from 'rowpost-jinja2/suggestion';
import type { Catalog, Column, Table, ToOne } from '../../db/catalog/catalog.js';
import { AppError } from '../../foundation/errors.js';
import { ownValue } from '../../foundation/ownValue.js';
import { fragmentsOf } from '../document/rootFields.js';
import { parseFilter, type ParsedFilter } from '../filter/syntax/parser.js';
import { parseOrdering, type ParsedOrdering } from '../ordering/parseOrdering.js';
import { collectFields } from '../read/collectFields.js';
import { SCALARS } from '../schema/scalars.js';

/** The input of an aggregate: a table, and columns reached from it. */
export interface Subquery {
  readonly table: Table;
  /** In the order of the text; the first is aggregated, the others are group keys. */
  readonly columns: readonly [SubqueryColumn, ...SubqueryColumn[]];
  /** The arguments in the subquery: which rows of the table are aggregated. */
  readonly page: SubqueryPage;
}

export interface SubqueryPage {
  readonly filter?: ParsedFilter;
  readonly ordering: ParsedOrdering;
  /** All rows when left out. */
  readonly limit?: number;
  readonly offset?: number;
}

export interface SubqueryColumn {
  /** `column`, or `parent_column` behind a relation; aliases replace names. */
  readonly key: string;
  readonly path: readonly Step[];
  readonly column: Column;
}

/** A to-one relation with its path from the table, so that equal paths share a join. */
export interface Step {
  readonly relation: ToOne;
  readonly target: Table;
  readonly names: string;
}

const MAX_CHARACTERS = 10_000;
const MAX_TOKENS = 1_000;
const MAX_COLUMNS = 32;
const MAX_STEPS = 8;
/** With fragments expanded, of which few characters make any number. */
const MAX_FIELDS = MAX_COLUMNS * (MAX_STEPS + 1);

/**
 * Parses a subquery: `{ orders { total customer { country } } }`, named or not. It has no variables: an argument that is
 * one counts as absent.
 *
 * @throws AppError GRAPHQL_SYNTAX, GRAPHQL_VALIDATION, DOCUMENT_TOO_COMPLEX, FILTER_SYNTAX
 */
export function readSubquery(text: string, catalog: Catalog): Subquery {
  const document = parseText(text);
  const operations = document.definitions.filter((node) => node.kind === Kind.OPERATION_DEFINITION);
  const [operation] = operations;
  const roots = operation?.selectionSet.selections ?? [];
  const [root] = roots;
  if (!operation || operations.length > 1 || operation.operation.valueOf() !== 'query') {
    throw invalid('The subquery must be one query.');
  }
  if (roots.length !== 1 || root?.kind !== Kind.FIELD)
    throw invalid('The subquery must have one field: a table.');
  const table = catalog.tables.get(root.name.value);
  if (!table) throw unknown(`There is no table "${root.name.value}".`, root, catalog.tables.keys());
  const scope = { fragments: fragmentsOf(document), variables: {} };
  const columns = collectColumns({ catalog, scope, fields: 0 }, table, [root], [], '');
  const [first, ...others] = columns;
  if (!first) throw invalid('The subquery names no column.', root);
  if (columns.length > MAX_COLUMNS) throw tooManyColumns();
  return { table, columns: [first, ...others], page: writtenPage(root) };
}

interface Reading {
  readonly catalog: Catalog;
  readonly scope: Parameters<typeof collectFields>[0];
  /** Read so far. */
  fields: number;
}

function tooManyColumns(): AppError {
  return new AppError('DOCUMENT_TOO_COMPLEX', `The subquery has more than ${MAX_COLUMNS} columns.`);
}

function collectColumns(
  reading: Reading,
  table: Table,
  nodes: readonly FieldNode[],
  path: readonly Step[],
  prefix: string,
): SubqueryColumn[] {
  const columns: SubqueryColumn[] = [];
  for (const [key, inner] of collectFields(reading.scope, table.name, nodes)) {
    reading.fields += 1;
    if (reading.fields > MAX_FIELDS) throw tooManyColumns();
    const [field] = inner;
    const name = field.name.value;
    const column = table.columns.get(name);
    if (column) {
      columns.push({ key: prefix + key, path, column });
      continue;
    }
    const relation = table.relations.get(name);
    const target = relation && reading.catalog.tables.get(relation.target);
    if (!relation || !target) {
      throw unknown(`"${table.name}" has no field "${name}".`, field, [
        ...table.columns.keys(),
        ...table.relations.keys(),
      ]);
    }
    if (relation.kind !== 'to-one') {
      const hint = `Aggregate "${relation.target}" itself, grouped by its relation to "${table.name}".`;
      throw invalid(`"${name}" is a collection: a subquery follows to-one relations only.`, field, hint);
    }
    if (path.length >= MAX_STEPS)
      throw invalid(`The subquery goes over more than ${MAX_STEPS} relations.`, field);
    const step = { relation, target, names: `${path.at(-1)?.names ?? ''}.${name}` };
    columns.push(...collectColumns(reading, target, inner, [...path, step], `${prefix}${key}_`));
  }
  return columns;
}

const PAGE_ARGUMENTS: Readonly<Record<string, GraphQLInputType>> = {
  filter: GraphQLString,
  ordering: new GraphQLList(GraphQLString),
  limit: SCALARS.Int,
  offset: SCALARS.Int,
};

function writtenPage(root: FieldNode): SubqueryPage {
  const given = new Map<string, unknown>();
  for (const { name, value } of root.arguments ?? []) {
    const type = ownValue(PAGE_ARGUMENTS, name.value);
    if (!type) throw invalid(`"${name.value}" can't be used in a subquery.`, root, ARGUMENTS_HINT);
    if (value.kind === Kind.VARIABLE || value.kind === Kind.NULL) continue;
    const read = valueFromAST(value, type, {});
    const isCount = name.value === 'limit' || name.value === 'offset';
    if (read === undefined || (isCount && Number(read) < 0)) {
      throw invalid(`"${name.value}" in the subquery has no such value.`, root, ARGUMENTS_HINT);
    }
    given.set(name.value, read);
  }
  const { filter, ordering = [], limit, offset } = Object.fromEntries(given) as WrittenArguments;
  return {
    ...(filter !== undefined && filter.trim() !== '' ? { filter: parseFilter(filter) } : {}),
    ordering: parseOrdering(ordering.filter((item) => item !== null)),
    ...(limit === undefined ? {} : { limit }),
    ...(offset === undefined ? {} : { offset }),
  };
}

interface WrittenArguments {
  readonly filter?: string;
  readonly ordering?: readonly (string | null)[];
  readonly limit?: number;
  readonly offset?: number;
}

const ARGUMENTS_HINT = 'A subquery takes filter, ordering, limit and offset, as a list does.';

function parseText(text: string): DocumentNode {
  if (text.length > MAX_CHARACTERS) {
    throw new AppError('DOCUMENT_TOO_COMPLEX', `The subquery is longer than ${MAX_CHARACTERS} characters.`);
  }
  try {
    return parse(text, { maxTokens: MAX_TOKENS, noLocation: false });
  } catch (error) {
    if (!(error instanceof GraphQLError)) throw error;
    const [place] = error.locations ?? [];
    throw new AppError('GRAPHQL_SYNTAX', `The subquery does not parse: ${error.message}`, {
      details: place ? { line: place.line, column: place.column } : {},
    });
  }
}

function unknown(message: string, node: FieldNode, names: Iterable<string>): AppError {
  return invalid(message, node, suggestion(node.name.value, names));
}

function invalid(message: string, node?: FieldNode, hint?: string): AppError {
  const place = node?.loc?.startToken;
  return new AppError('GRAPHQL_VALIDATION', message, {
    hint: hint ?? 'Write { table { aggregated key key parent { key } } }.',
    details: place ? { line: place.line, column: place.column } : {},
  });
}
