import type { Catalog, Column, Table } from '../../db/catalog/catalog.js';
import type { CompiledStatement } from '../../db/pool/compiledStatement.js';
import type { Inputs, Slot } from '../../db/sql/sql.js';
import { isServerError } from '../../db/sql/sqlState.js';
import { isOfRule, toAppError } from '../../db/sql/toAppError.js';
import { AppError } from '../../foundation/errors.js';
import { ownValue } from '../../foundation/ownValue.js';
import type { StatementField } from '../plan/plan.js';
import { errorLocation } from './errorLocation.js';
import { columnOfSlot, rowsOfSlot } from './inputValues.js';
import { outOfBounds } from './outOfBounds.js';

/** The error of a write that PostgreSQL rejected, with table and column if known, by their API names. */
export function writeError(
  error: AppError,
  field: StatementField,
  { slots }: Pick<CompiledStatement, 'slots'>,
  catalog: Catalog,
  inputs: Inputs,
): AppError {
  const { code, message, cause } = error;
  if (!isServerError(cause)) return error;
  const table = field.table === undefined ? undefined : catalog.tables.get(field.table);
  if (cause.code?.startsWith('23')) return constraintError(error, catalog, table);
  // PostgreSQL reports no table.
  if (isOfRule(cause)) return toAppError(cause, () => ({ table: table?.name, columns: [] }));
  if (code !== 'BAD_USER_INPUT' || table === undefined) return error;
  // "unnamed portal parameter $2 = '...'"
  const parameter = /parameter \$(\d+)/.exec(cause.where ?? '')?.[1];
  const slot = parameter === undefined ? undefined : slots[Number(parameter) - 1];
  const named = slot && columnOfSlot(slot);
  const found = isOutOfBounds(cause.code) ? findOutOfBounds(table, slots, inputs) : undefined;
  const column = named?.name ?? found?.column.name;
  const reason = found ? `${message.replace(/\.$/, '')}: ${found.limit}.` : message;
  return new AppError(code, column === undefined ? message : `${column}: ${reason}`, {
    details: { ...error.details, table: table.name, ...(column === undefined ? {} : { column }) },
    cause,
  });
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
      : (rowsOfSlot(slot)?.(inputs) ?? []).flatMap((row) =>
          [...table.columns.values()].map((column) => [column, ownValue(row, column.name)] as const),
        );
    for (const [column, value] of given) {
      const limit = outOfBounds(column, value);
      if (limit !== undefined) return { column, limit };
    }
  }
  return undefined;
}
