import type { ResponseReservation } from './responseBudget.js';
import { NO_INPUTS, type Inputs, type Sql } from '../sql/sql.js';
import { boundStatement, compiledStatement } from './compiledStatement.js';
import type { Rows, TransactionRequest } from './transactionRequest.js';
import type { Transactions, TransactionStatement } from './transactions.js';

/** Runs one statement in a transaction of its own; values are returned as text. Throws AppError. */
export async function runStatement(
  transactions: Transactions,
  tenantid: number | null,
  mode: 'read' | 'write',
  piece: Sql,
  inputs: Inputs = NO_INPUTS,
): Promise<Rows> {
  return runBoundStatement(transactions, tenantid, mode, boundStatement(compiledStatement(piece), inputs));
}

/** The same for a statement that was bound before. */
export async function runBoundStatement(
  transactions: Transactions,
  tenantid: number | null,
  mode: 'read' | 'write',
  statement: TransactionStatement,
  statementTimeoutMs?: number,
): Promise<Rows> {
  return resultOf(transactions, { tenantid, mode, statements: [statement], statementTimeoutMs });
}

/** Runs a read whose result may be large. @param reservation counts it; released by the caller. Throws AppError. */
export async function readLarge(
  transactions: Transactions,
  tenantid: number,
  piece: Sql,
  reservation: ResponseReservation,
  inputs: Inputs = NO_INPUTS,
): Promise<Rows> {
  const statement = boundStatement(compiledStatement(piece), inputs);
  return resultOf(transactions, { tenantid, mode: 'read', statements: [statement], reservation });
}

async function resultOf(transactions: Transactions, request: TransactionRequest): Promise<Rows> {
  const outcome = await transactions.run(request);
  if (outcome.kind === 'failed') throw outcome.error;
  return outcome.results[0] ?? [];
}
