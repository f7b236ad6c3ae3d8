import { bind, NO_INPUTS, toStatement, type Inputs, type Sql } from '../sql.js';
import type { Rows } from './pipeline.js';
import { preparedText } from './preparedStatements.js';
import type { Transactions } from './transactions.js';

/** Runs one statement in a transaction of its own; values are returned as text. Throws AppError. */
export async function runStatement(
  transactions: Transactions,
  tenantid: number | null,
  mode: 'read' | 'write',
  piece: Sql,
  inputs: Inputs = NO_INPUTS,
): Promise<Rows> {
  const { text, slots } = toStatement(piece);
  const values = bind({ text, slots }, inputs);
  const statements = [{ statement: preparedText(text), values }];
  const outcome = await transactions.run({ tenantid, mode, statements });
  if (outcome.kind === 'failed') throw outcome.error;
  return outcome.results[0] ?? [];
}
