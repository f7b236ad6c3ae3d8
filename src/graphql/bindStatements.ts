import { boundStatement, type CompiledStatement } from '../db/pool/compiledStatement.js';
import type { Inputs } from '../db/sql/sql.js';
import type { TransactionStatement } from '../db/pool/transactions.js';
import { AppError } from '../foundation/errors.js';
import { ownValue } from '../foundation/ownValue.js';
import type { StatementResults } from './assemble.js';
import { statementFields, type Plan, type StatementField } from './plan/plan.js';
import type { RequestFilters } from './read/requestFilters.js';
import { FieldError } from './response.js';

/** A plan's statements with the inputs of one run. */
export interface BoundPlan {
  readonly kind: Plan['kind'];
  readonly inputs: Inputs;
  readonly statements: readonly TransactionStatement[];
  /** What each of them comes from. */
  readonly origins: readonly { readonly field: StatementField; readonly planned: CompiledStatement }[];
  /** Fields of a query that have no statement, because no parameter can hold one of their values. */
  readonly refused: StatementResults;
}

/** Throws FieldError for a value of a mutation that no parameter can hold. */
export function bindStatements({ kind, fields }: Plan, inputs: Inputs): BoundPlan {
  const statements: TransactionStatement[] = [];
  const origins: BoundPlan['origins'][number][] = [];
  const refused = new Map<StatementField, FieldError>();
  for (const field of fields.flatMap(statementFields)) {
    const bound = bindField(field, inputs);
    if (bound instanceof FieldError) {
      if (kind === 'mutation') throw bound;
      refused.set(field, bound);
      continue;
    }
    statements.push(...bound);
    origins.push(...field.statements.map((planned) => ({ field, planned })));
  }
  return { kind, inputs, statements, origins, refused };
}

/** Inputs of one run: variables, including filter literals, and the principal. */
export function inputsOf(
  variables: Readonly<Record<string, unknown>>,
  filters: RequestFilters,
  principal: Readonly<Record<string, unknown>>,
): Inputs {
  return {
    variables,
    literals: (name) => filters.ofVariable(String(ownValue(variables, name))).literals,
    principal,
  };
}

/** A value that no parameter can hold is an error of the field. */
function bindField(field: StatementField, inputs: Inputs): TransactionStatement[] | FieldError {
  try {
    return field.statements.map((planned) => boundStatement(planned, inputs));
  } catch (error) {
    if (error instanceof AppError) return new FieldError(withTable(error, field), field.path, field.nodes);
    throw error;
  }
}

/** Adds the table to an error about a value that its column does not accept. */
function withTable(error: AppError, { table }: StatementField): AppError {
  if (table === undefined || error.details['column'] === undefined) return error;
  return error.withDetails({ table, ...error.details });
}
