import { Kind, type DefinitionNode, type FragmentDefinitionNode, type SelectionSetNode } from 'graphql';
import type { Catalog, Table } from '../../db/catalog/catalog.js';
import type { EmailFailure } from '../../email/email.js';
import { DocumentError, parseBounded } from '../../graphql/document/document.js';
import { ROLE_LIMITS } from '../../graphql/document/limits.js';
import type { Steps } from '../../graphql/steps.js';
import { suggestion } from '../../suggestion.js';
import type { TemplateRead } from '../../templates/index.js';
import { CONTEXT_NAMES, type EmailQuery } from './emailTypeParts.js';

/** A context value that a field of an email type reads. */
interface FieldRead extends TemplateRead {
  readonly field: string;
}

/** What is known about a context value: an object with these names, or nothing. A list has the shape of its items. */
type Shape = { readonly names: ReadonlyMap<string, Shape>; readonly what: string } | 'anything';
type NamedShape = readonly [name: string, shape: Shape];

const ITEM = '[]';
const MAX_WARNINGS = 50;
/**
 * Per query, and how deep. A valid one has fewer, while the fragments of a draft, which nobody has validated, may double at
 * each level, or refer to themselves.
 */
const MAX_SELECTIONS = 4_000;
const MAX_LEVELS = 300;

/**
 * Finds reads of names that the context will not have: columns that a target lacks, and fields that a query does not select.
 * @param further names added by the email type's own settings
 * @param targets the tables whose changes trigger the email; without any, nothing is known about the records
 */
export function* missingNames(
  reads: readonly FieldRead[],
  queries: readonly EmailQuery[],
  catalog: Catalog,
  targets: readonly string[],
  further: readonly string[],
): Steps<readonly EmailFailure[]> {
  const tables = targets.flatMap((name) => catalog.tables.get(name) ?? []);
  const results = yield* queryShapes(queries);
  const found = new Map<string, EmailFailure>();
  for (const table of tables.length === 0 ? [undefined] : tables) {
    yield;
    const context = contextShape(table, results, further);
    for (const read of reads) {
      const place = `${read.field} ${read.line} ${read.column}`;
      if (found.has(place)) continue;
      const failure = missingIn(context, read);
      if (failure) found.set(place, failure);
      if (found.size === MAX_WARNINGS) return [...found.values()];
    }
  }
  return [...found.values()];
}

/**
 * All paths in the context of templates, such as `records.new.total` and `orders.customer.name`; the paths of a list are
 * those of its items.
 */
export function* contextPaths(
  queries: readonly Pick<EmailQuery, 'outvar' | 'query'>[],
  table: Table | undefined,
  further: readonly string[],
): Steps<readonly string[]> {
  const results = yield* queryShapes(queries);
  return pathsOf(contextShape(table, results, further), '');
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
  results: readonly NamedShape[],
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
    ...results,
  ]);
}

function recordShape({ name, columns }: Table): Shape {
  const names = [...columns.values()].flatMap((column) => [column.name, column.sqlName]);
  return object(
    `the table ${name}`,
    names.map((column) => [column, 'anything'] as const),
  );
}

function* queryShapes(
  queries: readonly Pick<EmailQuery, 'outvar' | 'query'>[],
): Steps<readonly NamedShape[]> {
  const shapes: NamedShape[] = [];
  for (const { outvar, query } of queries) {
    yield;
    shapes.push([outvar, queryShape(outvar, query)]);
  }
  return shapes;
}

/** A single root field is unwrapped to its rows; several become an object. */
function queryShape(outvar: string, query: string): Shape {
  const definitions = definitionsOf(query);
  const fragments = definitions.filter((node) => node.kind === Kind.FRAGMENT_DEFINITION);
  const operation = definitions.find((node) => node.kind === Kind.OPERATION_DEFINITION);
  if (!operation) return 'anything';
  const [only, ...others] = operation.selectionSet.selections;
  const isOne = only?.kind === Kind.FIELD && others.length === 0;
  const selections = new Selections(fragments);
  return selections.of(`the query ${outvar}`, isOne ? only.selectionSet : operation.selectionSet);
}

/** Empty for a query that doesn't parse yet, or is too complex to be one. */
export function definitionsOf(query: string): readonly DefinitionNode[] {
  try {
    return parseBounded(query, ROLE_LIMITS).definitions;
  } catch (error) {
    if (error instanceof DocumentError) return [];
    throw error;
  }
}

/** The shapes of what a query selects; `anything` beyond the limits. */
class Selections {
  readonly #fragments: ReadonlyMap<string, SelectionSetNode>;
  #seen = 0;

  constructor(fragments: readonly FragmentDefinitionNode[]) {
    this.#fragments = new Map(fragments.map((node) => [node.name.value, node.selectionSet]));
  }

  of(what: string, selection: SelectionSetNode | undefined, level = 1): Shape {
    if (!selection) return 'anything';
    if (level > MAX_LEVELS) this.#seen = MAX_SELECTIONS;
    const names = selection.selections.flatMap((node): NamedShape[] => {
      if (++this.#seen > MAX_SELECTIONS) return [];
      if (node.kind === Kind.FIELD) {
        const inner = this.of(`${what}, ${node.name.value},`, node.selectionSet, level + 1);
        return [[node.alias?.value ?? node.name.value, inner]];
      }
      const spread =
        node.kind === Kind.INLINE_FRAGMENT ? node.selectionSet : this.#fragments.get(node.name.value);
      const inner = this.of(what, spread, level + 1);
      return inner === 'anything' ? [] : [...inner.names];
    });
    // Incomplete otherwise.
    return this.#seen > MAX_SELECTIONS ? 'anything' : object(what, names);
  }
}

function object(what: string, names: readonly NamedShape[]): Shape {
  return { what, names: new Map(names) };
}
