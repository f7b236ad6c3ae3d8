import { AppError } from '../../foundation/errors.js';
import { writeJson, textOfValue } from '../../foundation/json/losslessJson.js';
import { ownValue } from '../../foundation/ownValue.js';
import { keyColumns, keyOf, keyText, readTable, type Table } from './choices.js';
import { containing, literal } from './deliveryFilter.js';
import { shortened } from './formValues.js';
import type { Visit } from './pageHandlers.js';

const TABLES = '{ Utility { tables { name columns { name type in_primary_key } } } }';
const TEXT_TYPES: ReadonlySet<string> = new Set(['text', 'varchar', 'bpchar', 'citext', 'name']);
/** Of columns that say who somebody is, in any spelling: `email`, `customer_name`, `Login`. */
const NAMES_OF_PEOPLE = /mail|name|login|recipient|contact/i;
const MAX_TABLES = 30;
const MAX_ROWS = 10;
const MAX_RELATIONS = 5;
/** Tables that are asked for their key, each by a request: those without one are not shown. */
const MAX_ASKED = 20;
const LABEL_COLUMNS = 3;
const LABEL_CHARACTERS = 60;
/** Without an index, a table is read to its end. */
const MAX_MS = 5_000;

type Row = Readonly<Record<string, unknown>>;

/** Rows of a table to choose from. */
interface RowsOfTable {
  readonly name: string;
  readonly rows: readonly { readonly key: string; readonly label: string }[];
  readonly hasMore: boolean;
}

interface FoundRows {
  readonly tables: readonly RowsOfTable[];
  /** Tables that were not searched to their end. */
  readonly unsearched: readonly string[];
}

/** The rows in which a person's name or address has the text, read with the rights of the role. */
export async function findRows({ query, queryData }: Visit, text: string): Promise<FoundRows> {
  const { Utility } = await query<{ Utility: { readonly tables: readonly Table[] } }>(TABLES);
  const about = Utility.tables.filter(
    (table) => peopleColumns(table).length > 0 && keyColumns(table).length > 0,
  );
  const startedAtMs = performance.now();
  const tables: RowsOfTable[] = [];
  const unsearched = about.slice(MAX_TABLES).map(({ name }) => name);
  for (const table of about.slice(0, MAX_TABLES)) {
    const rows =
      performance.now() - startedAtMs > MAX_MS ? undefined : await readRows(queryData, table, text);
    if (!rows) unsearched.push(table.name);
    else if (rows.length > 0) tables.push(toRows(table, rows));
  }
  return { tables, unsearched };
}

/** The newest rows that refer to a row, such as the orders of a customer. */
export async function findReferringRows(
  { query, queryData }: Visit,
  name: string,
  key: Row,
): Promise<readonly RowsOfTable[]> {
  const referring: { readonly field: string; readonly table: Table }[] = [];
  const relations = (await readTable(query, name))?.relations.filter(({ kind }) => kind === 'to-many') ?? [];
  for (const { field, target } of relations.slice(0, MAX_ASKED)) {
    if (referring.length === MAX_RELATIONS) break;
    const table = await readTable(query, target);
    if (table && keyColumns(table).length > 0) referring.push({ field, table });
  }
  if (referring.length === 0) return [];
  const fields = referring.map(({ field, table }, index) => {
    const ordering = JSON.stringify(keyColumns(table).map((column) => `${column} desc`));
    return `rows${index}: ${field}(ordering: ${ordering}, limit: ${MAX_ROWS + 1}) { ${namesOf(table)} }`;
  });
  const filter = Object.entries(key)
    .map(([column, value]) => `\`${column}\` = ${literal(textOfValue(value))}`)
    .join(' and ');
  const [row] =
    (
      await readable<{ readonly rows: readonly Readonly<Record<string, readonly Row[]>>[] }>(
        queryData,
        `query ($filter: String) { rows: ${name}(filter: $filter, limit: 1) { ${fields.join(' ')} } }`,
        { filter },
      )
    )?.rows ?? [];
  return referring
    .map(({ table }, index) => toRows(table, (row && ownValue(row, `rows${index}`)) ?? []))
    .filter(({ rows }) => rows.length > 0);
}

/** Undefined if it may not be read, or not in time. */
async function readable<Data>(
  queryData: Visit['queryData'],
  document: string,
  variables: Row,
): Promise<Data | undefined> {
  try {
    return await queryData<Data>(document, variables);
  } catch (error) {
    if (error instanceof AppError && error.code !== 'INTERNAL_ERROR') return undefined;
    throw error;
  }
}

function peopleColumns({ columns }: Table): readonly string[] {
  return columns
    .filter(({ name, type }) => TEXT_TYPES.has(type) && NAMES_OF_PEOPLE.test(name))
    .map(({ name }) => name);
}

const namesOf = ({ columns }: Table): string => columns.map(({ name }) => name).join(' ');

async function readRows(
  queryData: Visit['queryData'],
  table: Table,
  text: string,
): Promise<readonly Row[] | undefined> {
  const document = `query ($filter: String, $limit: Int) {
    rows: ${table.name}(filter: $filter, limit: $limit) { ${namesOf(table)} }
  }`;
  const filter = peopleColumns(table)
    .map((name) => `\`${name}\` ilike ${literal(containing(text))}`)
    .join(' or ');
  const found = await readable<{ readonly rows: readonly Row[] }>(queryData, document, {
    filter,
    limit: MAX_ROWS + 1,
  });
  return found?.rows;
}

function toRows(table: Table, rows: readonly Row[]): RowsOfTable {
  return {
    name: table.name,
    rows: rows.slice(0, MAX_ROWS).map((row) => toChoice(table, row)),
    hasMore: rows.length > MAX_ROWS,
  };
}

function toChoice(table: Table, row: Row): { readonly key: string; readonly label: string } {
  const key = keyOf(table, row);
  const label = table.columns
    .filter((column) => !column.in_primary_key)
    .map(({ name }) => ownValue(row, name))
    .filter((value) => value != null)
    .slice(0, LABEL_COLUMNS)
    .map((value) => shortened(textOfValue(value), LABEL_CHARACTERS))
    .join(', ');
  return { key: writeJson(key), label: [keyText(key), label].filter((text) => text !== '').join(': ') };
}
