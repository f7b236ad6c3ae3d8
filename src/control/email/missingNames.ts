import { Kind, type DefinitionNode, type FragmentDefinitionNode, type SelectionSetNode } from 'graphql';
import { suggestion } from 'rowpost-jinja2/suggestion';
import type { TemplateRead } from 'rowpost-jinja2';
import type { Catalog, Table } from '../../db/catalog/catalog.js';
import type { EmailFailure } from '../../email/email.js';
import { DocumentError, parseBounded } from '../../graphql/document/document.js';
import { ROLE_LIMITS } from '../../graphql/document/limits.js';
import type { Steps } from '../../graphql/steps.js';
import { CONTEXT_NAMES, type EmailQuery } from './emailTypeParts.js';

/** A context value that a field of an email type reads. */
interface FieldRead extends TemplateRead {
  readonly field: string;
}

/** What is known about a context value: an object with these names, a list of such objects, or nothing. */
type Shape =
  { readonly names: ReadonlyMap<string, Shape>; readonly what: What; readonly isList: boolean } | 'anything';
/** What an object is, in words. Only written for a warning: a query has thousands, each below names of kilobytes. */
type What = () => string;
type NamedShape = readonly [name: string, shape: Shape];

const ITEM = '[]';
/** The root fields that are no lists of rows. */
const NO_ROWS = new Set(['Aggregates', 'Utility', '__typename', '__schema', '__type']);
const MAX_WARNINGS = 50;
/** Each takes a microsecond. */
const READS_PER_STEP = 1_000;
/**
 * Per query, and how deep. A valid one has fewer, while the fragments of a draft, which nobody has validated, may double at
 * each level, or refer to themselves.
 */
const MAX_SELECTIONS = 4_000;
const MAX_LEVELS = 300;
/** Of all paths: those of a table with 1,000 columns of 63 characters, several times. */
const MAX_PATH_CHARACTERS = 1_000_000;

/**
 * Finds reads of names that the context will not have: columns that a target lacks, fields that a query does not select,
 * fields of a list instead of its items, and values that a method hides.
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
    for (const [index, read] of reads.entries()) {
      if (index % READS_PER_STEP === READS_PER_STEP - 1) yield;
      const place = `${read.field} ${read.line} ${read.column}`;
      if (found.has(place)) continue;
      const failure = missingIn(context, read);
      if (!failure) continue;
      found.set(place, failure);
      // Looking for a name that may have been meant takes some milliseconds.
      yield;
      if (found.size === MAX_WARNINGS) return [...found.values()];
    }
  }
  return [...found.values()];
}

/**
 * All paths in the context of templates, such as `records.new.total` and `orders.customer.name`, as far as an editor can use them;
 * the paths of a list are those of its items.
 */
export function* contextPaths(
  queries: readonly Pick<EmailQuery, 'outvar' | 'query'>[],
  table: Table | undefined,
  further: readonly string[],
): Steps<readonly string[]> {
  const results = yield* queryShapes(queries);
  const paths: string[] = [];
  let characters = 0;
  for (const path of pathsOf(contextShape(table, results, further), '')) {
    characters += path.length;
    if (characters > MAX_PATH_CHARACTERS) break;
    paths.push(path);
  }
  return paths;
}

function* pathsOf(shape: Shape, prefix: string): Generator<string> {
  if (shape === 'anything') return;
  for (const [name, inner] of shape.names) {
    yield prefix + name;
    yield* pathsOf(inner, `${prefix}${name}.`);
  }
}

function missingIn(context: Shape, read: FieldRead): EmailFailure | undefined {
  const { path, field, line, column, isMethod } = read;
  let shape = context;
  for (const [index, name] of path.entries()) {
    if (shape === 'anything') return undefined;
    if (name === ITEM) continue;
    const inner = shape.names.get(name);
    if (inner === undefined) {
      // Already reported for the read of the parent path.
      if (index !== path.length - 1) return undefined;
      const hint =
        (index === 0 ? contextHint(context, name) : undefined) ??
        (name === 'length' ? 'Write | length to count.' : suggestion(name, shape.names.keys()));
      const message = `${shape.what()} has no "${name}"`;
      return { code: 'UNKNOWN_NAME', field, line, column, message, ...(hint === undefined ? {} : { hint }) };
    }
    if (shape.isList && path[index - 1] !== ITEM) {
      if (index !== path.length - 1) return undefined;
      const list = written(path.slice(0, index));
      const message = `${shape.what()} is a list, which has no "${name}"`;
      const hint = `Write ${list}[0].${name} for its first row, or loop over ${list}.`;
      return { code: 'UNKNOWN_NAME', field, line, column, message, hint };
    }
    if (isMethod && index === path.length - 1) {
      const message = `"${name}" is a method, which hides the value of that name`;
      const hint = `Write ${written(path.slice(0, index))}['${name}'].`;
      return { code: 'UNKNOWN_NAME', field, line, column, message, hint };
    }
    shape = inner;
  }
  return undefined;
}

/** A path as templates write it, by the first item of a list. */
function written(path: readonly string[]): string {
  return path.join('.').replaceAll(`.${ITEM}`, '[0]');
}

/** Where a name is that was looked for in the context itself. */
function contextHint(context: Shape, name: string): string | undefined {
  if (name === 'new' || name === 'old') return `Write records.${name}.`;
  if (name === 'unsubscribe_url') return 'Set unsubscribe of the email to type or all.';
  const records = context === 'anything' ? undefined : context.names.get('records');
  const row = records === undefined || records === 'anything' ? undefined : records.names.get('new');
  if (row === undefined || row === 'anything' || !row.names.has(name)) return undefined;
  return `Write records.new.${name}.`;
}

function contextShape(
  table: Table | undefined,
  results: readonly NamedShape[],
  further: readonly string[],
): Shape {
  const record = table === undefined ? 'anything' : recordShape(table);
  return object(
    () => 'the context of templates',
    [
      ...[...CONTEXT_NAMES, ...further].map((name) => [name, 'anything'] as const),
      [
        'records',
        object(
          () => 'records',
          [
            ['new', record],
            ['old', record],
          ],
        ),
      ],
      ...results,
    ],
  );
}

function recordShape({ name, columns }: Table): Shape {
  const names = [...columns.values()].flatMap((column) => [column.name, column.sqlName]);
  return object(
    () => `the table ${name}`,
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
  const what: What = () => `the query ${outvar}`;
  const selections = new Selections(fragments);
  return isOne
    ? selections.of(what, only.selectionSet, { isList: !NO_ROWS.has(only.name.value) })
    : selections.of(what, operation.selectionSet, { isListField: (name) => !NO_ROWS.has(name) });
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

  of(
    what: What,
    selection: SelectionSetNode | undefined,
    { isList = false, isListField = isCollection, level = 1 } = {},
  ): Shape {
    if (!selection) return 'anything';
    if (level > MAX_LEVELS) this.#seen = MAX_SELECTIONS;
    const names = selection.selections.flatMap((node): NamedShape[] => {
      if (++this.#seen > MAX_SELECTIONS) return [];
      if (node.kind === Kind.FIELD) {
        const { value: name } = node.name;
        const inner = this.of(() => `${what().replace(/,$/, '')}, ${name},`, node.selectionSet, {
          isList: isListField(name),
          level: level + 1,
        });
        return [[node.alias?.value ?? name, inner]];
      }
      const spread =
        node.kind === Kind.INLINE_FRAGMENT ? node.selectionSet : this.#fragments.get(node.name.value);
      const inner = this.of(what, spread, { isList, isListField, level: level + 1 });
      return inner === 'anything' ? [] : [...inner.names];
    });
    // Incomplete otherwise.
    return this.#seen > MAX_SELECTIONS ? 'anything' : object(what, names, isList);
  }
}

function isCollection(name: string): boolean {
  return name.endsWith('_collection') || name === 'thefiles';
}

function object(what: What, names: readonly NamedShape[], isList = false): Shape {
  return { what, names: new Map(names), isList };
}
