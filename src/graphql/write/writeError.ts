import type { Catalog, Column, Table } from '../../db/catalog/catalog.js';
import type { CompiledStatement } from '../../db/pool/compiledStatement.js';
import type { Inputs, Slot } from '../../db/sql/sql.js';
import { isRaised, isServerError } from '../../db/sql/sqlState.js';
import {
  isOfRule,
  mayBeOfValue,
  parameterIn,
  refusedValueWords,
  toAppError,
} from '../../db/sql/toAppError.js';
import type { TransactionOutcome, TransactionStatement } from '../../db/pool/transactions.js';
import { AppError, type ErrorDetails } from '../../foundation/errors.js';
import { ownValue } from '../../foundation/ownValue.js';
import type { StatementField } from '../plan/plan.js';
import { errorLocation } from './errorLocation.js';
import { columnOfSlot, rowsOfSlot } from './inputValues.js';
import { outOfBounds } from './outOfBounds.js';
import { findRefusedColumn } from './refusedColumn.js';

/** What a write was, and how to read as its role. */
export interface FailedWrite extends Pick<CompiledStatement, 'slots'> {
  readonly field: StatementField;
  readonly catalog: Catalog;
  readonly inputs: Inputs;
  readonly read: (statements: readonly TransactionStatement[]) => Promise<TransactionOutcome>;
}

/** The error of a write that PostgreSQL rejected, with table and column if known, by their API names. */
export async function writeError(error: AppError, write: FailedWrite): Promise<AppError> {
  const { field, slots, catalog, inputs, read } = write;
  const { cause } = error;
  if (!isServerError(cause)) return error;
  const table = field.table === undefined ? undefined : catalog.tables.get(field.table);
  if (cause.code?.startsWith('23')) return constraintError(error, catalog, table);
  // PostgreSQL reports no table.
  if (isOfRule(cause)) return toAppError(cause, () => ({ table: table?.name, columns: [] }));
  if (table === undefined || isRaised(cause)) return error;
  if (!mayBeOfValue(cause))
    return error.code === 'BAD_USER_INPUT' ? named(error, { table: table.name }) : error;
  const slot = slots[parameterIn(cause) - 1];
  const found = isOutOfBounds(cause.code) ? findOutOfBounds(table, slots, inputs) : undefined;
  const column =
    (slot && columnOfSlot(slot)) ?? found?.column ?? (await findRefusedColumn(slots, inputs, read));
  if (column === undefined && error.code !== 'BAD_USER_INPUT') return error;
  const words = refusedValueWords(cause);
  const reason = found ? `${words.replace(/\.$/, '')}: ${found.limit}.` : words;
  const place = { table: table.name, ...(column === undefined ? {} : { column: column.name }) };
  return new AppError('BAD_USER_INPUT', column === undefined ? words : `${column.name}: ${reason}`, {
    details: place,
    cause,
  });
}

function named({ code, message, hint, details, cause }: AppError, place: ErrorDetails): AppError {
  return new AppError(code, message, { hint, details: { ...details, ...place }, cause });
}

/** A constraint violation by API names. No field is to blame if the constraint is deferred. */
export function constraintError(error: AppError, catalog: Catalog, table?: Table): AppError {
  const { cause } = error;
  if (!isServerError(cause) || !cause.code?.startsWith('23')) return error;
  return toAppError(cause, errorLocation(catalog, table));
}

/** Value too long or too large, for which PostgreSQL doesn't report the column. */
function isOutOfBounds(state: string | undefined): boolean {
  return state === '22001' || state === '22003';
}

interface OutOfBounds {
  readonly column: Column;
  /** What the column accepts, in words. */
  readonly limit: string;
}

function findOutOfBounds(table: Table, slots: readonly Slot[], inputs: Inputs): OutOfBounds | undefined {
  for (const slot of slots) {
    const one = columnOfSlot(slot);
    const given: (readonly [Column, unknown])[] = one
      ? [[one, slot(inputs)]]
      : (rowsOfSlot(slot)?.rows(inputs) ?? []).flatMap((row) =>
          [...table.columns.values()].map((column) => [column, ownValue(row, column.name)] as const),
        );
    for (const [column, value] of given) {
      const limit = outOfBounds(column, value);
      if (limit !== undefined) return { column, limit };
    }
  }
  return undefined;
}
