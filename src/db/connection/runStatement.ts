import { NO_INPUTS, type Inputs, type Sql } from '../sql.js';
import { boundStatement, compiledStatement } from './compiledStatement.js';
import type { Rows } from './pipeline.js';
import type { Transactions } from './transactions.js';

/** Runs one statement in a transaction of its own; values are returned as text. Throws AppError. */
export async function runStatement(
  transactions: Transactions,
  tenantid: number | null,
  mode: 'read' | 'write',
  piece: Sql,
  inputs: Inputs = NO_INPUTS,
  statementTimeoutMs?: number,
): Promise<Rows> {
  const statements = [boundStatement(compiledStatement(piece), inputs)];
  const outcome = await transactions.run({ tenantid, mode, statements, statementTimeoutMs });
  if (outcome.kind === 'failed') throw outcome.error;
  return outcome.results[0] ?? [];
}
