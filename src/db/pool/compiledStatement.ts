import { bind, toStatement, type Inputs, type Slot, type Sql } from '../sql/sql.js';
import { AppError } from '../../foundation/errors.js';
import { preparedText, type PreparedText } from './preparedStatements.js';
import type { TransactionStatement } from './transactionRequest.js';

/** A statement that was compiled once, and runs with any inputs. */
export interface CompiledStatement {
  readonly statement: PreparedText;
  readonly slots: readonly Slot[];
}

/** Of what provides a parameter's value: it holds the part of the filter that the value comes from. */
const BYTES_OF_SLOT = 1_600;
const BYTES_OF_CHARACTER = 2;

/** The memory that a statement takes, about. */
export function bytesOfStatement({ statement, slots }: CompiledStatement): number {
  return BYTES_OF_CHARACTER * statement.text.length + BYTES_OF_SLOT * slots.length;
}

/** PostgreSQL's limit, since a message has their number in two bytes. */
const MAX_PARAMETERS = 65_535;

/** Throws AppError DOCUMENT_TOO_COMPLEX. */
export function compiledStatement(piece: Sql): CompiledStatement {
  const { text, slots } = toStatement(piece);
  if (slots.length > MAX_PARAMETERS) {
    throw new AppError('DOCUMENT_TOO_COMPLEX', `A statement would have more than ${MAX_PARAMETERS} values.`, {
      hint: 'Name fewer tables or rows in a field, or write shorter filters and policy rules.',
    });
  }
  return { statement: preparedText(text), slots };
}

/** The statement with the parameters of one run. */
export function boundStatement(compiled: CompiledStatement, inputs: Inputs): TransactionStatement {
  return { statement: compiled.statement, values: bind(compiled, inputs) };
}
