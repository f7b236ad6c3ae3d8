import { namedFileColumn, type Column, type ColumnType, type Table } from '../../db/catalog/catalog.js';
import { fullSqlType } from '../../db/catalog/types.js';
import { param, sql, typeName, type Inputs, type Slot, type Sql } from '../../db/sql/sql.js';
import { AppError } from '../../foundation/errors.js';
import { writeJson } from '../../foundation/json/losslessJson.js';
import { ownValue } from '../../foundation/ownValue.js';
import { checkKey, checkValue } from './checkValue.js';

export type InputRow = Readonly<Record<string, unknown>>;

/**
 * The columns given in an input row, in the table's order. Throws AppError BAD_USER_INPUT if there is no row, and
 * FILE_COLUMN_READ_ONLY even for null, since plans depend on which columns are given, not on their values.
 */
export function givenColumns(table: Table, input: unknown): readonly Column[] {
  const row = inputRow(input);
  const given = [...table.columns.values()].filter((column) => ownValue(row, column.name) !== undefined);
  const named = namedFileColumn(table);
  if (!named || !given.includes(named)) return given;
  throw new AppError('FILE_COLUMN_READ_ONLY', `${table.name}.${named.name} is written only by uploads.`, {
    details: { table: table.name, column: named.name },
  });
}

export function inputRow(input: unknown): InputRow {
  if (typeof input === 'object' && input !== null && !Array.isArray(input)) {
    // Without a prototype: a column may be named `constructor`.
    return Object.assign(Object.create(null) as object, input) as InputRow;
  }
  throw new AppError('BAD_USER_INPUT', 'input must be given.', { details: { argument: 'input' } });
}

const COLUMNS = new WeakMap<Slot, Column>();

/** A slot tagged with its column, so that an error about a parameter can be attributed to the column: see `columnOfSlot`. */
function slotOf(column: Column, slot: Slot): Slot {
  COLUMNS.set(slot, column);
  return slot;
}

/** Rows to insert, all with the same columns. */
export interface ManyRows {
  readonly columns: readonly Column[];
  readonly rows: (inputs: Inputs) => readonly InputRow[];
}

const ROWS = new WeakMap<Slot, ManyRows>();

/** The rows as one parameter, a JSON list for `fromRecord`, tagged so that `rowsOfSlot` can read them. */
export function slotOfRows(given: ManyRows): Slot {
  const slot: Slot = (inputs) =>
    writeJson(
      given
        .rows(inputs)
        .map((row) =>
          Object.fromEntries(
            given.columns.map((column) => [
              column.sqlName,
              toRecordValue(column, ownValue(row, column.name)),
            ]),
          ),
        ),
    );
  ROWS.set(slot, given);
  return slot;
}

export function rowsOfSlot(slot: Slot): ManyRows | undefined {
  return ROWS.get(slot);
}

export function columnOfSlot(slot: Slot): Column | undefined {
  return COLUMNS.get(slot);
}

const VALUES = new WeakMap<Slot, Sql>();

/** What is written to the column, if the slot provides its value. */
export function valueOfSlot(slot: Slot): Sql | undefined {
  return VALUES.get(slot);
}

/** The slot of a key value, which must fit the column's type. */
export function keySlot(column: Column, slot: Slot): Slot {
  return slotOf(column, (inputs) => {
    const value = slot(inputs);
    checkKey(column, value);
    return column.type.kind === 'bytea' && !column.type.array ? bytesOrNull(value) : value;
  });
}

/** A column's value as SQL of the column's type; `slot` provides the GraphQL value. */
export function valueSql(column: Column, slot: Slot): Sql {
  const read = slotOf(column, (inputs) => toParameter(column, slot(inputs)));
  const value = typedSql(column, read);
  VALUES.set(read, value);
  return value;
}

function typedSql({ type }: Column, read: Slot): Sql {
  // PostgreSQL accepts objects, arrays of objects, and the text form of either.
  if (type.composite)
    return sql`(select v from pg_catalog.json_to_record(${param(read, 'json')}) r(v ${typeName(fullSqlType(type))}))`;
  // The only type whose lists are not separated by commas.
  if (type.array && type.sqlType === 'box') return sql`${param(read, 'text[]')}::pg_catalog.box[]`;
  return param(read, fullSqlType(type));
}

/**
 * The column's type in a JSON list of rows, and the conversion to its own type. JSON is a text there: within the list,
 * PostgreSQL would take lists of JSON for further dimensions, and refuse \u0000.
 */
export function fromRecord(
  type: ColumnType,
  value: Sql,
): { readonly recordType: string; readonly value: Sql } {
  const own = fullSqlType(type);
  if (type.kind !== 'json') return { recordType: own, value };
  return { recordType: type.array ? 'text[]' : 'text', value: sql`${value}::${typeName(own)}` };
}

function toParameter(column: Column, value: unknown): unknown {
  if (value === null || value === undefined) return null;
  if (isTextOfKey(column, value)) return keyText(column, value);
  checkValue(column, value);
  const { kind, array, composite } = column.type;
  if (composite) return writeJson({ v: value });
  if (kind === 'json') return array ? eachItem(value, jsonOrNull, column.type.dimensions) : writeJson(value);
  if (kind === 'bytea') return array ? eachItem(value, bytesOrNull) : bytesOrNull(value);
  return value;
}

/** Keys are IDs: those that are lists or JSON are given as the text that shows them. */
function isTextOfKey({ inPrimaryKey, type }: Column, value: unknown): value is string {
  if (!inPrimaryKey || typeof value !== 'string') return false;
  // Composite values are read from JSON, which may hold their text.
  return type.kind === 'json' || (type.array && !type.composite);
}

function keyText(column: Column, text: string): string {
  checkKey(column, text);
  return text;
}

/** A column's value in a JSON list of rows, for `fromRecord`. */
function toRecordValue(column: Column, value: unknown): unknown {
  if (value === null || value === undefined) return null;
  const { kind, array, composite } = column.type;
  if (composite) {
    checkValue(column, value);
    return value;
  }
  const sent = toParameter(column, value);
  if (kind !== 'bytea' || typeof sent === 'string') return sent;
  return array ? eachItem(sent, hexOrNull) : hexOrNull(sent);
}

/** Maps the items of an array of any dimension. */
function eachItem(value: unknown, write: (item: unknown) => unknown, dimensions = 1): unknown {
  return (value as unknown[]).map((item) =>
    dimensions > 1 && Array.isArray(item) ? eachItem(item, write, dimensions - 1) : write(item),
  );
}

/** As PostgreSQL reads bytes from a text. */
const hexOrNull = (value: unknown): string | null =>
  Buffer.isBuffer(value) ? `\\x${value.toString('hex')}` : null;

const jsonOrNull = (value: unknown): string | null => (value === null ? null : writeJson(value));

/** PostgreSQL's hexadecimal form is accepted too: keys have it in events. */
function bytesOrNull(value: unknown): Buffer | null {
  if (typeof value !== 'string') return null;
  return value.startsWith('\\x') ? Buffer.from(value.slice(2), 'hex') : Buffer.from(value, 'base64');
}
