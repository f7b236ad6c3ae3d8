import { GraphQLError, Kind, parse, type DefinitionNode, type SelectionSetNode } from 'graphql';
import type { Catalog, Table } from '../../db/catalog/catalog.js';
import type { EmailFailure } from '../../email/email.js';
import { suggestion } from '../../suggestion.js';
import type { TemplateRead } from '../../templates/index.js';
import { CONTEXT_NAMES, type EmailQuery } from './emailTypeParts.js';

/** A context value that a field of an email type reads. */
interface FieldRead extends TemplateRead {
  readonly field: string;
}

/** What is known about a context value: an object with these names, or nothing. A list has the shape of its items. */
type Shape = { readonly names: ReadonlyMap<string, Shape>; readonly what: string } | 'anything';

const ITEM = '[]';
const MAX_WARNINGS = 50;

/**
 * Finds reads of names that the context will not have: columns that a target lacks, and fields that a query does not select.
 * @param further names added by the email type's own settings
 * @param targets the tables whose changes trigger the email; without any, nothing is known about the records
 */
export function missingNames(
  reads: readonly FieldRead[],
  queries: readonly EmailQuery[],
  catalog: Catalog,
  targets: readonly string[],
  further: readonly string[],
): readonly EmailFailure[] {
  const tables = targets.flatMap((name) => catalog.tables.get(name) ?? []);
  const found = new Map<string, EmailFailure>();
  for (const table of tables.length === 0 ? [undefined] : tables) {
    const context = contextShape(table, queries, further);
    for (const read of reads) {
      const failure = missingIn(context, read);
      const place = `${read.field} ${read.line} ${read.column}`;
      if (failure && !found.has(place)) found.set(place, failure);
    }
  }
  return [...found.values()].slice(0, MAX_WARNINGS);
}

/**
 * All paths in the context of templates, such as `records.new.total` and `orders.customer.name`; the paths of a list are
 * those of its items.
 */
export function contextPaths(
  queries: readonly Pick<EmailQuery, 'outvar' | 'query'>[],
  table: Table | undefined,
  further: readonly string[],
): readonly string[] {
  return pathsOf(contextShape(table, queries, further), '');
}

function pathsOf(shape: Shape, prefix: string): readonly string[] {
  if (shape === 'anything') return [];
  return [...shape.names].flatMap(([name, inner]) => [prefix + name, ...pathsOf(inner, `${prefix}${name}.`)]);
}

function missingIn(context: Shape, { path, field, line, column }: FieldRead): EmailFailure | undefined {
  let shape = context;
  for (const [index, name] of path.entries()) {
    if (shape === 'anything') return undefined;
    if (name === ITEM) continue;
    const inner = shape.names.get(name);
    if (inner === undefined) {
      // Already reported for the read of the parent path.
      if (index !== path.length - 1) return undefined;
      const hint = name === 'length' ? 'Write | length to count.' : suggestion(name, shape.names.keys());
      const message = `${shape.what} has no "${name}"`;
      return { code: 'UNKNOWN_NAME', field, line, column, message, ...(hint === undefined ? {} : { hint }) };
    }
    shape = inner;
  }
  return undefined;
}

function contextShape(
  table: Table | undefined,
  queries: readonly Pick<EmailQuery, 'outvar' | 'query'>[],
  further: readonly string[],
): Shape {
  const record = table === undefined ? 'anything' : recordShape(table);
  return object('the context of templates', [
    ...[...CONTEXT_NAMES, ...further].map((name) => [name, 'anything'] as const),
    [
      'records',
      object('records', [
        ['new', record],
        ['old', record],
      ]),
    ],
    ...queries.map(({ outvar, query }) => [outvar, queryShape(outvar, query)] as const),
  ]);
}

function recordShape({ name, columns }: Table): Shape {
  const names = [...columns.values()].flatMap((column) => [column.name, column.sqlName]);
  return object(
    `the table ${name}`,
    names.map((column) => [column, 'anything'] as const),
  );
}

/** A single root field is unwrapped to its rows; several become an object. */
function queryShape(outvar: string, query: string): Shape {
  const definitions = definitionsOf(query);
  const fragments = new Map(
    definitions.flatMap((node) =>
      node.kind === Kind.FRAGMENT_DEFINITION ? [[node.name.value, node.selectionSet]] : [],
    ),
  );
  const operation = definitions.find((node) => node.kind === Kind.OPERATION_DEFINITION);
  if (!operation) return 'anything';
  const [only, ...others] = operation.selectionSet.selections;
  const isOne = only?.kind === Kind.FIELD && others.length === 0;
  return selected(`the query ${outvar}`, isOne ? only.selectionSet : operation.selectionSet, fragments);
}

/** Empty for a query that doesn't parse yet. */
export function definitionsOf(query: string): readonly DefinitionNode[] {
  try {
    return parse(query, { noLocation: true }).definitions;
  } catch (error) {
    if (error instanceof GraphQLError) return [];
    throw error;
  }
}

function selected(
  what: string,
  selection: SelectionSetNode | undefined,
  fragments: ReadonlyMap<string, SelectionSetNode>,
): Shape {
  if (!selection) return 'anything';
  const names = selection.selections.flatMap((node): (readonly [string, Shape])[] => {
    if (node.kind === Kind.FIELD) {
      const inner = selected(`${what}, ${node.name.value},`, node.selectionSet, fragments);
      return [[node.alias?.value ?? node.name.value, inner]];
    }
    const spread = node.kind === Kind.INLINE_FRAGMENT ? node.selectionSet : fragments.get(node.name.value);
    const inner = selected(what, spread, fragments);
    return inner === 'anything' ? [] : [...inner.names];
  });
  return object(what, names);
}

function object(what: string, names: readonly (readonly [string, Shape])[]): Shape {
  return { what, names: new Map(names) };
}
