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
  type PostgresError,
} from '../../db/sql/toAppError.js';
import type { TransactionOutcome, TransactionStatement } from '../../db/pool/transactions.js';
import { AppError } from '../../foundation/errors.js';
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
  const { field, catalog } = write;
  const { cause } = error;
  if (!isServerError(cause)) return error;
  const table = field.table === undefined ? undefined : catalog.tables.get(field.table);
  if (cause.code?.startsWith('23')) return constraintError(error, catalog, table);
  // PostgreSQL reports no table.
  if (isOfRule(cause)) return toAppError(cause, () => ({ table: table?.name, columns: [] }));
  if (table === undefined || isRaised(cause)) return error;
  const refused = mayBeOfValue(cause) ? await findColumn(cause, table, write) : undefined;
  if (!refused)
    return error.code === 'BAD_USER_INPUT'
      ? error.withDetails({ ...error.details, table: table.name })
      : error;
  const { column, limit } = refused;
  const words = refusedValueWords(cause);
  const reason = limit === undefined ? words : `${words.replace(/\.$/, '')}: ${limit}.`;
  return new AppError('BAD_USER_INPUT', `${column.name}: ${reason}`, {
    details: { table: table.name, column: column.name },
    cause,
  });
}

/** The column that refuses its value, and what it accepts, if known. */
async function findColumn(
  cause: PostgresError,
  table: Table,
  { slots, inputs, read }: FailedWrite,
): Promise<{ readonly column: Column; readonly limit?: string } | undefined> {
  const slot = slots[parameterIn(cause) - 1];
  const sent = slot && columnOfSlot(slot);
  const found = isOutOfBounds(cause.code) ? findOutOfBounds(table, slots, inputs) : undefined;
  const column = sent ?? found?.column ?? (await findRefusedColumn(cause, slots, inputs, read));
  return column && { column, ...(found ? { limit: found.limit } : {}) };
}

/** A constraint violation by API names. No field is to blame if the constraint is deferred. */
export function constraintError(error: AppError, catalog: Catalog, table?: Table): AppError {
  const { cause } = error;
  if (!isServerError(cause) || !cause.code?.startsWith('23')) return error;
  return toAppError(cause, errorLocation(catalog, table));
}

/** Value too long or too large, for which PostgreSQL doesn't report the column. */
function isOutOfBounds(state: string | undefined): boolean {
  return state === '22001' || state === '22003' || state === '22026';
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
