import type { Table } from './choices.js';
import type { Starter, StarterColumn, StarterList } from './starters.js';

/** A table that a starter is fitted to, with what its relations lead to. */
export interface FittedTable extends Table {
  readonly relations: readonly {
    readonly field: string;
    readonly kind: string;
    readonly columns: readonly FittedColumn[];
  }[];
}

type FittedColumn = Table['columns'][number];

/** Something that a starter names, and the column that it is: `email`, or `customers.email` behind a relation. */
export interface FittedName {
  readonly label: string;
  /** Empty if it is left out. */
  readonly column: string;
  readonly choices: readonly string[];
}

export interface Fit {
  readonly input: Readonly<Record<string, unknown>>;
  readonly names: readonly FittedName[];
}

/** The table that a starter is about, by its name, if there is one. */
export function guessTable({ fit }: Starter, tables: readonly string[]): string | undefined {
  return bestOf(tables, fit.tables);
}

/**
 * A starter's input with the columns of a table in place of those of the demo, read by a query if they are behind relations.
 * @param chosen the columns in the order of the names; guessed if absent, left out if empty
 */
export function fitStarter({ fit, input }: Starter, table: FittedTable, chosen: readonly string[] = []): Fit {
  const names = fit.names.map((name, index) => {
    const choices = choicesOf(table, fit, name.kind);
    const given = chosen[index];
    const isChosen = given === '' || (given !== undefined && choices.includes(given));
    return { ...name, choices, column: isChosen ? given : (bestOf(choices, name.like) ?? '') };
  });
  const list = fit.list && findList(table, fit.list);
  const columns = names.map(({ column }) => column);
  const query = fit.outvar === undefined ? undefined : queryOf(table, fit.outvar, columns, list);
  const paths = names.map(({ path, column, else: otherwise = "''" }): readonly [string, string] => [
    path,
    column === '' ? otherwise : pathOf(column, fit.outvar),
  ]);
  if (fit.list) paths.push(...(list?.paths ?? [[fit.list.path, '[]'] as const]));
  return {
    input: {
      ...(replaceIn(input, paths) as object),
      ...(fit.outvar === undefined ? {} : { queries: query ? [query] : [] }),
    },
    names: names.map(({ label, choices, column }) => ({ label, choices, column })),
  };
}

/** The row's own columns, and those of rows that it refers to if the starter has a query to read them with. */
function choicesOf(
  { columns, relations }: FittedTable,
  fit: Starter['fit'],
  kind: StarterColumn['kind'],
): readonly string[] {
  const behind = fit.outvar === undefined ? [] : relations.filter((relation) => relation.kind === 'to-one');
  return [
    ...namesOf(columns, kind),
    ...behind.flatMap(({ field, columns: theirs }) =>
      namesOf(theirs, kind).map((name) => `${field}.${name}`),
    ),
  ];
}

const NUMBER = /^(int|bigint|smallint|numeric|decimal|float|real|double|money)/;
const TIME = /^(timestamp|date)/;
/** As a name or an address. */
const OTHER = new RegExp(`${NUMBER.source}|${TIME.source}|^uuid`);
const NO_TEXT = /^(bool|json|bytea|interval|time)|\[\]$/;

function namesOf(columns: readonly FittedColumn[], kind: StarterColumn['kind']): readonly string[] {
  const fits = ({ type }: FittedColumn): boolean => {
    if (kind === 'number') return NUMBER.test(type);
    if (kind === 'time') return TIME.test(type);
    return !NO_TEXT.test(type) && (kind !== 'text' || !OTHER.test(type));
  };
  return columns.filter(fits).map(({ name }) => name);
}

/** `records.new.email`, or `orders[0].customers.email` from the query. */
function pathOf(column: string, outvar: string | undefined): string {
  return outvar !== undefined && column.includes('.') ? `${outvar}[0].${column}` : `records.new.${column}`;
}

interface FoundList {
  /** The field of the query, with the names of the starter. */
  readonly field: string;
  readonly paths: readonly (readonly [path: string, by: string])[];
}

/** The rows of a list, if a relation leads to rows that have all its columns. */
function findList({ relations }: FittedTable, list: StarterList): FoundList | undefined {
  const many = relations.filter(({ kind }) => kind === 'to-many');
  const field = bestOf(
    many.map((relation) => relation.field),
    list.like.map((word) => `${word}_collection`),
  );
  const relation = many.find((each) => each.field === field);
  if (!relation) return undefined;
  const find = (name: string, { kind, like }: StarterColumn): string | undefined => {
    const column = bestOf(namesOf(relation.columns, kind), like);
    return column === undefined || column === name ? column : `${name}: ${column}`;
  };
  const found = Object.entries(list.columns).map(([name, column]) => find(name, column));
  const price = found.includes(undefined) ? list.price && find('price', list.price.column) : undefined;
  const columns = [...found, price].filter((column) => column !== undefined);
  if (columns.length < found.length) return undefined;
  const alias = list.path.slice(list.path.lastIndexOf('.') + 1);
  return {
    field: `${alias === relation.field ? '' : `${alias}: `}${relation.field} { ${columns.join(' ')} }`,
    paths: price !== undefined && list.price ? [[list.price.path, list.price.by]] : [],
  };
}

/** Reads the row with what is behind its relations; undefined if nothing is. */
function queryOf(
  { name, columns }: FittedTable,
  outvar: string,
  chosen: readonly string[],
  list: FoundList | undefined,
): object | undefined {
  const key = columns.filter((column) => column.in_primary_key);
  const pairs = chosen.filter((column) => column.includes('.')).map((column) => column.split('.'));
  const relations = [...new Set(pairs.map(([relation]) => relation))];
  if (key.length === 0 || (pairs.length === 0 && list === undefined)) return undefined;
  const fields = [
    ...relations.map((relation) => {
      const theirs = pairs.filter(([each]) => each === relation).map(([, column]) => column);
      return `${relation} { ${[...new Set(theirs)].join(' ')} }`;
    }),
    ...(list === undefined ? [] : [list.field]),
  ];
  return {
    query: `query ($filter: String) {\n  ${name}(filter: $filter, limit: 1) {\n    ${fields.join('\n    ')}\n  }\n}`,
    filter: key
      .map(({ name: column, type }) => {
        const value = `{{ records.new.${column} }}`;
        return `${column} = ${NUMBER.test(type) ? value : `"${value}"`}`;
      })
      .join(' and '),
    outvar,
  };
}

/** A value with each path replaced wherever its texts have it. */
function replaceIn(value: unknown, paths: readonly (readonly [path: string, by: string])[]): unknown {
  if (typeof value === 'string') return replacePaths(value, paths);
  if (Array.isArray(value)) return value.map((item) => replaceIn(item, paths));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, replaceIn(item, paths)]));
}

/** All at once: what replaces one may be another. */
function replacePaths(text: string, paths: readonly (readonly [path: string, by: string])[]): string {
  const by = new Map(paths);
  const longest = paths.map(([path]) => path).toSorted((a, b) => b.length - a.length);
  const any = longest.map((path) => path.replace(/[.[\]]/g, '\\$&')).join('|');
  return text.replace(new RegExp(`(?<![\\w.])(?:${any})(?!\\w)`, 'g'), (path) => by.get(path) ?? path);
}

const EXACT = 1_000;
const CONTAINED = 500;

/** The name that is most like the words, of which the first is the best; the first of equals. */
function bestOf(names: readonly string[], like: readonly string[]): string | undefined {
  const scored = names.map((name) => ({ name, score: scoreOf(name, like) }));
  const [best] = scored.filter(({ score }) => score > 0).toSorted((a, b) => b.score - a.score);
  return best?.name;
}

function scoreOf(name: string, like: readonly string[]): number {
  const isBehind = name.includes('.');
  const last = tokensOf(name.slice(name.lastIndexOf('.') + 1));
  const whole = tokensOf(name);
  const scores = like.map((word, index) => {
    const wanted = tokensOf(word);
    const isExact = [last, whole].some((tokens) => tokens.join() === wanted.join());
    const isContained = wanted.every((token) => last.includes(token)) && last.length <= wanted.length + 1;
    return isExact ? EXACT - 10 * index : isContained ? CONTAINED - 10 * index : 0;
  });
  // Of what is as good, that of the row itself.
  return Math.max(...scores) - (isBehind ? 5 : 0);
}

/** `orderItems` and `order_items` are order and item. */
function tokensOf(name: string): readonly string[] {
  return name
    .replace(/([a-z])([A-Z])/g, '$1_$2')
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((token) => token !== '')
    .map((token) => (token.length > 3 ? token.replace(/s$/, '') : token));
}
