import { bind, toStatement, type Inputs, type Slot, type Sql } from '../sql/sql.js';
import { preparedText, type PreparedText } from './preparedStatements.js';
import type { TransactionStatement } from './transactionRequest.js';

/** A statement that was compiled once, and runs with any inputs. */
export interface CompiledStatement {
  readonly statement: PreparedText;
  readonly slots: readonly Slot[];
}

export function compiledStatement(piece: Sql): CompiledStatement {
  const { text, slots } = toStatement(piece);
  return { statement: preparedText(text), slots };
}

/** The statement with the parameters of one run. */
export function boundStatement(compiled: CompiledStatement, inputs: Inputs): TransactionStatement {
  return { statement: compiled.statement, values: bind(compiled, inputs) };
}
