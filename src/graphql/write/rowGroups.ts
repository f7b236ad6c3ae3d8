import type { Column, Table } from '../../db/catalog/catalog.js';
import type { Inputs, Slot } from '../../db/sql/sql.js';
import { AppError } from '../../foundation/errors.js';
import { givenColumns, inputRow, type InputRow, type ManyRows } from './inputValues.js';

/** Each group is an INSERT of its own within the statement. */
const MAX_GROUPS = 50;

/**
 * Splits rows into groups with the same columns, since only an absent column takes its default. Groups keep the input's
 * order, and so do results and generated keys. An absent column without a default counts as null, unless `exact`. Throws
 * AppError BAD_USER_INPUT.
 */
export function groupRows(table: Table, sample: unknown, slot: Slot, exact: boolean): readonly ManyRows[] {
  const split = (value: unknown): readonly Group[] => splitRows(table, rowsOf(value), exact);
  const groups = split(sample);
  if (groups.length > MAX_GROUPS) {
    throw new AppError('BAD_USER_INPUT', 'The rows of input have too many different sets of columns.', {
      hint: 'Give the same columns in every row, or send rows with the same columns together.',
      details: { argument: 'input' },
    });
  }
  // All groups read the same input, which is split once per run.
  let last: { readonly inputs: Inputs; readonly groups: readonly Group[] } | undefined;
  return groups.map(({ columns }, index) => ({
    columns,
    rows: (inputs) => {
      if (last?.inputs !== inputs) last = { inputs, groups: split(slot(inputs)) };
      return last.groups[index]?.rows ?? [];
    },
  }));
}

interface Group {
  readonly columns: readonly Column[];
  readonly rows: InputRow[];
}

function splitRows(table: Table, rows: readonly InputRow[], exact: boolean): readonly Group[] {
  const given = rows.map((row) => givenColumns(table, row));
  const plain = exact ? new Set<Column>() : new Set(given.flat().filter((column) => !column.hasDefault));
  const groups: Group[] = [];
  let lastKey: string | undefined;
  rows.forEach((row, index) => {
    const names = new Set(given[index]);
    const columns = [...table.columns.values()].filter((column) => names.has(column) || plain.has(column));
    const key = columns.map((column) => column.name).join(' ');
    if (key === lastKey) groups.at(-1)?.rows.push(row);
    else groups.push({ columns, rows: [row] });
    lastKey = key;
  });
  return groups;
}

function rowsOf(value: unknown): readonly InputRow[] {
  return Array.isArray(value) ? value.map(inputRow) : [];
}
