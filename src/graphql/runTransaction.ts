import type { AnswerShare } from '../db/pool/answerBudget.js';
import type { Catalog } from '../db/catalog/catalog.js';
import { boundStatement, type CompiledStatement } from '../db/pool/compiledStatement.js';
import type { Inputs } from '../db/sql/sql.js';
import type { Transactions, TransactionStatement } from '../db/pool/transactions.js';
import type { Rows } from '../db/pool/transactionRequest.js';
import { AppError } from '../foundation/errors.js';
import { ownValue } from '../foundation/ownValue.js';
import type { Span } from '../foundation/observability/tracing/tracing.js';
import { FieldError } from './response.js';
import { readError } from './filter/valueError.js';
import type { ParsedFilters } from './plan/parsedFilters.js';
import { statementFields, type Plan, type StatementField } from './plan/plan.js';
import { constraintError, writeError } from './write/writeError.js';

/** The result of a field: JSON text, or its error. */
export type FieldResult = string | FieldError;
export type FieldResults = ReadonlyMap<StatementField, FieldResult>;

export interface PlanRun {
  readonly transactions: Pick<Transactions, 'run'>;
  readonly tenantid: number;
  readonly inputs: Inputs;
  readonly answer: AnswerShare;
  readonly catalog: Catalog;
  readonly span?: Span | undefined;
  /** Rewrites PostgreSQL's results. */
  readonly write?: ((json: string) => string) | undefined;
  /** Statements of the same transaction, before the plan's and after them. */
  readonly bracket?:
    | {
        readonly before: TransactionStatement;
        readonly after: (results: FieldResults) => TransactionStatement;
      }
    | undefined;
}

/**
 * Runs all statements of a plan in one transaction. If it fails, nothing was changed, and this throws FieldError, or
 * AppError if no field is to blame.
 */
export async function runPlan(
  plan: Plan,
  { transactions, tenantid, inputs, answer, catalog, span, write, bracket }: PlanRun,
): Promise<FieldResults> {
  const results = new Map<StatementField, FieldResult>();
  const statements: TransactionStatement[] = [];
  const sent: { readonly field: StatementField; readonly planned: CompiledStatement }[] = [];
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
  // A field's last statement has its result.
  const take = (rows: readonly Rows[]): typeof results => {
    rows.forEach((given, index) => {
      const field = sent[index]?.field;
      if (field) results.set(field, given[0]?.[0] ?? 'null');
    });
    if (!write) return results;
    for (const [field, given] of results) if (typeof given === 'string') results.set(field, write(given));
    return results;
  };
  const around = bracket && { ...bracket, after: (rows: readonly Rows[]) => bracket.after(take(rows)) };
  const onlyInserts = sent.every(({ field }) => field.onlyInserts === true);
  const request = { tenantid, mode, statements, onlyInserts, answer, span } as const;
  const outcome = await transactions.run(around ? { ...request, bracket: around } : request);
  if (outcome.kind === 'failed') {
    const failed = outcome.statement === undefined ? undefined : sent[outcome.statement];
    if (!failed) throw constraintError(outcome.error, catalog);
    const { field, planned } = failed;
    const error =
      mode === 'read' ? readError(outcome.error) : writeError(outcome.error, field, planned, catalog, inputs);
    throw new FieldError(error, field.path, field.nodes);
  }
  return around ? results : take(outcome.results);
}

/** Inputs of one run: variables, including filter literals, and the principal. */
export function inputsOf(
  variables: Readonly<Record<string, unknown>>,
  filters: ParsedFilters,
  principal: Readonly<Record<string, unknown>>,
): Inputs {
  return {
    variables,
    literals: (name) => filters.parse(String(ownValue(variables, name))).literals,
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
  const { code, message, hint, details, cause } = error;
  if (table === undefined || details['column'] === undefined) return error;
  return new AppError(code, message, { hint, details: { table, ...details }, cause });
}
