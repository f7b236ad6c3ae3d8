import { bind, toStatement, type Inputs, type Slot, type Sql } from '../sql/sql.js';
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

export function compiledStatement(piece: Sql): CompiledStatement {
  const { text, slots } = toStatement(piece);
  return { statement: preparedText(text), slots };
}

/** The statement with the parameters of one run. */
export function boundStatement(compiled: CompiledStatement, inputs: Inputs): TransactionStatement {
  return { statement: compiled.statement, values: bind(compiled, inputs) };
}
