import { Router } from 'express';
import { keyArguments } from '../../db/catalog/names.js';
import { AppError } from '../../foundation/errors.js';
import { writeJson, textOfValue, parseJsonObject } from '../../foundation/json/losslessJson.js';
import { ownValue } from '../../foundation/ownValue.js';
import { keyColumns, keyOf } from './choices.js';
import { CONSOLE, linkTo } from './consolePath.js';
import { literal } from './deliveryFilter.js';
import { numberOf, problemOf, textOf, type Values, shortened } from './formValues.js';
import type { PageHandlers, Visit } from './pageHandlers.js';
import { pageOf, ROWS_QUERIED } from './paging.js';
import { emptyFields, fieldsOf, fieldsTyped, inputOf, type InputField, type RowField } from './rowForm.js';

const ROWS = `${CONSOLE}/tables/:name/rows`;
const MAX_FORM_BYTES = 1024 * 1024;
const MAX_FILTER_LENGTH = 2_000;
/** Longer values are cut in the list. */
const MAX_CELL_CHARACTERS = 60;

const TABLE = `query ($name: String) { Utility { tables(name: $name) {
  name writable columns { name type nullable in_primary_key }
} } }`;
const INPUT = `query ($name: String!) { __type(name: $name) {
  inputFields { name type { kind name ofType { kind name } } }
} }`;

interface Table {
  readonly name: string;
  readonly writable: boolean;
  readonly columns: readonly {
    readonly name: string;
    readonly type: string;
    readonly nullable: boolean;
    readonly in_primary_key: boolean;
  }[];
}

/** Values by column, as `/query` returns them. */
export type Row = Readonly<Record<string, unknown>>;
/** Each column of the primary key, as text. */
type Key = Readonly<Record<string, string>>;

const NOTICES: Readonly<Record<string, string>> = {
  created: 'Created.',
  saved: 'Saved.',
  deleted: 'Deleted.',
};
const SKIPPED = 'Nothing was written: a trigger of the table skipped the row.';

/** Pages of a table's rows, read and written at `/query` with the policy rules of the session's role. */
export function rowPages({ page, form }: PageHandlers): Router {
  const list = page(async (visit, req) => {
    const table = await readTable(visit, textOf(req.params, 'name'));
    const filter = textOf(req.query, 'filter', MAX_FILTER_LENGTH);
    const from = numberOf(req.query, 'from');
    const found = await readRows(visit, table, filter, from).catch((error: unknown) => problemOf(error));
    const problem = found instanceof AppError ? found : undefined;
    const { shown, ...links } = pageOf(found instanceof AppError ? [] : found, from, pathOf(table), {
      filter,
    });
    await visit.show(
      'rows',
      {
        title: `Rows of ${table.name}`,
        table,
        filter,
        rows: shown.map((row) => toLine(table, row)),
        ...links,
        notice: ownValue(NOTICES, textOf(req.query, 'done')),
        warning: req.query['done'] === 'skipped' ? SKIPPED : undefined,
        key: textOf(req.query, 'key', MAX_FILTER_LENGTH),
      },
      { problem },
    );
  });

  const edit = page(async (visit, req) => {
    const table = await readTable(visit, textOf(req.params, 'name'));
    const key = readKey(table, textOf(req.query, 'key', MAX_FILTER_LENGTH));
    const inputs = await readInputs(visit, table);
    const fields = key ? fieldsOf(inputs, await readRow(visit, table, key)) : emptyFields(inputs);
    await showForm(visit, table, { key, fields, done: textOf(req.query, 'done') });
  });

  const submit = form(
    async (visit, req, res) => {
      const { values, queryData } = visit;
      const table = await readTable(visit, textOf(req.params, 'name'));
      const key = readKey(table, textOf(values, 'key', MAX_FILTER_LENGTH));
      const inputs = await readInputs(visit, table);
      const isDeleted = key !== undefined && values['action'] === 'delete';
      try {
        const { row } = await queryData<{ readonly row: Row | null }>(
          mutationOf(table, key, isDeleted),
          isDeleted ? {} : { input: inputOf(inputs, values, key === undefined) },
        );
        if (!row) {
          res.redirect(303, `${pathOf(table)}?done=skipped`);
          return;
        }
        const done = isDeleted ? 'deleted' : key ? 'saved' : 'created';
        const path = `${pathOf(table)}${isDeleted ? '' : '/edit'}`;
        res.redirect(303, linkTo(path, { key: writeJson(keyOf(table, row)), done }));
      } catch (error) {
        const problem = problemOfColumn(problemOf(error));
        await showForm(visit, table, { key, fields: fieldsTyped(inputs, values), problem });
      }
    },
    { limitBytes: MAX_FORM_BYTES },
  );

  return Router().get(ROWS, list).get(`${ROWS}/edit`, edit).post(`${ROWS}/edit`, submit);
}

/** Throws AppError PERMISSION_DENIED, UNKNOWN_TABLE. */
async function readTable({ query }: Visit, name: string): Promise<Table> {
  const { Utility } = await query<{ readonly Utility: { readonly tables: readonly Table[] } }>(TABLE, {
    name,
  });
  const [table] = Utility.tables;
  if (!table) throw new AppError('NOT_FOUND', 'There is no such table.');
  return table;
}

function readRows(
  { queryData }: Visit,
  table: Table,
  filter: string,
  offset: number,
): Promise<readonly Row[]> {
  const ordering = keyColumns(table).map((name) => `${name} desc`);
  return select(queryData, table, { filter, ordering, limit: ROWS_QUERIED, offset });
}

/** Throws AppError NOT_FOUND. */
async function readRow({ queryData }: Visit, table: Table, key: Key): Promise<Row> {
  const filter = Object.entries(key)
    .map(([name, value]) => `\`${name}\` = ${literal(value)}`)
    .join(' and ');
  const [row] = await select(queryData, table, { filter, limit: 1 });
  if (row) return row;
  throw new AppError('NOT_FOUND', 'There is no such row, or this role may not see it.');
}

async function select(
  queryData: Visit['queryData'],
  { name, columns }: Table,
  variables: Values,
): Promise<readonly Row[]> {
  const query = `query ($filter: String, $ordering: [String], $limit: Int, $offset: Int) {
    rows: ${name}(filter: $filter, ordering: $ordering, limit: $limit, offset: $offset) { ${columns.map((column) => column.name).join(' ')} }
  }`;
  return (await queryData<{ readonly rows: readonly Row[] }>(query, variables)).rows;
}

/** The columns that mutations take; none of a read-only table. */
async function readInputs({ queryData }: Visit, table: Table): Promise<readonly InputField[]> {
  interface TypeRef {
    readonly kind: string;
    readonly name: string | null;
    readonly ofType?: TypeRef | null;
  }
  const { __type } = await queryData<{
    readonly __type: {
      readonly inputFields: readonly { readonly name: string; readonly type: TypeRef }[];
    } | null;
  }>(INPUT, { name: `${table.name}Input` });
  const columns = new Map(table.columns.map((column) => [column.name, column]));
  return (__type?.inputFields ?? []).flatMap(({ name, type }) => {
    const column = columns.get(name);
    if (!column) return [];
    const named = type.kind === 'NON_NULL' ? (type.ofType ?? type) : type;
    const isJson = named.kind === 'LIST' || named.name === 'GenericScalar';
    const kind = isJson ? 'json' : named.name === 'Boolean' ? 'flag' : 'text';
    return [{ name, kind, type: column.type, nullable: column.nullable, isKey: column.in_primary_key }];
  });
}

function mutationOf(table: Table, key: Key | undefined, isDeleted: boolean): string {
  const returned = `{ ${keyColumns(table).join(' ')} }`;
  const names = keyArguments(keyColumns(table), isDeleted ? 'delete' : 'update');
  const args = Object.entries(key ?? {}).map(
    ([name, value]) => `${names.get(name) ?? name}: ${JSON.stringify(value)}`,
  );
  if (isDeleted) return `mutation { row: delete_${table.name}(${args.join(', ')}) ${returned} }`;
  const field = `${key ? 'update' : 'create'}_${table.name}(${[...args, 'input: $input'].join(', ')})`;
  return `mutation ($input: ${table.name}Input) { row: ${field} ${returned} }`;
}

/** @returns undefined for a new row. Throws AppError NOT_FOUND for a key of other columns. */
function readKey(table: Table, text: string): Key | undefined {
  if (text === '') return undefined;
  const names = keyColumns(table);
  const key = parseJsonObject(text);
  if (!key || names.length === 0 || names.some((name) => ownValue(key, name) == null)) {
    throw new AppError('NOT_FOUND', 'There is no such row.');
  }
  return keyOf(table, key);
}

function toLine(table: Table, row: Row): object {
  const cells = table.columns.map(({ name, in_primary_key }) => {
    const value = ownValue(row, name);
    return {
      text: value == null ? '' : shortened(textOfValue(value), MAX_CELL_CHARACTERS),
      isNull: value == null,
      isKey: in_primary_key,
    };
  });
  return { cells, ...(table.writable ? { key: writeJson(keyOf(table, row)) } : {}) };
}

/** What GraphQL says of a variable, as it concerns the column. */
function problemOfColumn(problem: AppError): AppError {
  const [, column, text] =
    /^Variable "\$input" .* at "input\.(\w+)[^"]*"; (.*)$/s.exec(problem.message) ?? [];
  if (column === undefined || text === undefined) return problem;
  return new AppError(problem.code, `${text}.`, { details: { column }, cause: problem });
}

const pathOf = ({ name }: Table): string => `${CONSOLE}/tables/${encodeURIComponent(name)}/rows`;

async function showForm(
  { show }: Visit,
  table: Table,
  {
    key,
    fields,
    done = '',
    problem,
  }: {
    readonly key: Key | undefined;
    readonly fields: readonly RowField[];
    readonly done?: string;
    readonly problem?: AppError;
  },
): Promise<void> {
  const isNew = key === undefined;
  await show(
    'row',
    {
      title: isNew ? `New row of ${table.name}` : `${table.name} ${Object.values(key).join(', ')}`,
      table,
      key: isNew ? '' : writeJson(key),
      fields: isNew ? fields : fields.filter(({ isKey }) => !isKey),
      notice: ownValue(NOTICES, done),
      field: problem?.details['column'] ?? problem?.details['field'],
    },
    { problem },
  );
}
