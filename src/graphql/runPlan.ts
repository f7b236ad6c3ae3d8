import type { AnswerShare } from '../db/answerBudget.js';
import type { Catalog } from '../db/catalog/catalog.js';
import { bind, type Inputs } from '../db/sql.js';
import type { Transactions, TransactionStatement } from '../db/connection/transactions.js';
import { AppError } from '../errors.js';
import { FieldError } from './answer.js';
import { readError } from './filter/valueError.js';
import type { FilterTexts } from './plan/filterTexts.js';
import { statementFields, type Plan, type PlannedStatement, type StatementField } from './plan/plan.js';
import { constraintError, writeError } from './write/writeError.js';

/** What the statements of a plan gave: JSON text by field, or the error of the field. */
export type FieldResult = string | FieldError;

/**
 * Runs all statements of a plan in one transaction. Throws FieldError, or AppError where no field is to blame, when the
 * transaction failed; nothing was changed then.
 */
export async function runPlan(
  plan: Plan,
  transactions: Transactions,
  tenantid: number,
  inputs: Inputs,
  answer: AnswerShare,
  catalog: Catalog,
): Promise<ReadonlyMap<StatementField, FieldResult>> {
  const results = new Map<StatementField, FieldResult>();
  const statements: TransactionStatement[] = [];
  const sent: { readonly field: StatementField; readonly planned: PlannedStatement }[] = [];
  for (const field of plan.fields.flatMap(statementFields)) {
    const bound = bindField(field, inputs);
    if (bound instanceof FieldError) {
      if (plan.kind === 'mutation') throw bound;
      results.set(field, bound);
      continue;
    }
    statements.push(...bound);
    sent.push(...field.statements.map((planned) => ({ field, planned })));
  }
  if (statements.length === 0) return results;
  const mode = plan.kind === 'mutation' ? 'write' : 'read';
  const outcome = await transactions.run({ tenantid, mode, statements, answer });
  if (outcome.kind === 'failed') {
    const failed = outcome.statement === undefined ? undefined : sent[outcome.statement];
    if (!failed) throw constraintError(outcome.error, catalog);
    const { field, planned } = failed;
    const error =
      mode === 'read' ? readError(outcome.error) : writeError(outcome.error, field, planned, catalog, inputs);
    throw new FieldError(error, field.path, field.nodes);
  }
  // A field's last statement answers it.
  outcome.results.forEach((rows, index) => {
    const field = sent[index]?.field;
    if (field) results.set(field, rows[0]?.[0] ?? 'null');
  });
  return results;
}

/** Values of one run: variables, the literals of the filters among them, and who asks. */
export function inputsOf(
  variables: Readonly<Record<string, unknown>>,
  filters: FilterTexts,
  principal: Readonly<Record<string, unknown>>,
): Inputs {
  return { variables, literals: (name) => filters.parse(String(variables[name])).literals, principal };
}

/** A value that no parameter can hold is the field's error. */
function bindField(field: StatementField, inputs: Inputs): TransactionStatement[] | FieldError {
  try {
    return field.statements.map(({ statement, slots }) => ({
      statement,
      values: bind({ text: statement.text, slots }, inputs),
    }));
  } catch (error) {
    if (error instanceof AppError) return new FieldError(withTable(error, field), field.path, field.nodes);
    throw error;
  }
}

/** A value that its column does not take: of which table. */
function withTable(error: AppError, { table }: StatementField): AppError {
  const { code, message, hint, details, cause } = error;
  if (table === undefined || details['column'] === undefined) return error;
  return new AppError(code, message, { hint, details: { table, ...details }, cause });
}
