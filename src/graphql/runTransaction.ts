import type { ResponseReservation } from '../db/pool/responseBudget.js';
import type { Catalog } from '../db/catalog/catalog.js';
import type { Transactions, TransactionStatement } from '../db/pool/transactions.js';
import type { Rows } from '../db/pool/transactionRequest.js';
import type { Span } from '../foundation/observability/tracing/tracing.js';
import type { FieldResult, StatementResults } from './assemble.js';
import type { BoundPlan } from './bindStatements.js';
import { readError } from './filter/valueError.js';
import type { StatementField } from './plan/plan.js';
import { isServerError } from '../db/sql/sqlState.js';
import { shortened, type AppError } from '../foundation/errors.js';
import { FieldError } from './response.js';
import { constraintError, writeError } from './write/writeError.js';

/** Statements of the same transaction, before the plan's and after them. */
export interface TransactionBracket {
  readonly before: TransactionStatement;
  readonly after: (results: StatementResults) => TransactionStatement;
}

export interface TransactionOptions {
  readonly transactions: Pick<Transactions, 'run'>;
  readonly tenantid: number;
  readonly catalog: Catalog;
  /** Whether the caller may read all rows. */
  readonly seesAll: boolean;
  readonly reservation: ResponseReservation;
  readonly span?: Span | undefined;
  /** Rewrites PostgreSQL's results. */
  readonly rewrite?: ((json: string) => string) | undefined;
  readonly bracket?: TransactionBracket | undefined;
}

/**
 * Runs all statements of a plan in one transaction. If it fails, nothing was changed, and this throws FieldError, or
 * AppError if no field is to blame.
 */
export async function runTransaction(
  { kind, inputs, statements, origins, refused }: BoundPlan,
  { transactions, tenantid, catalog, seesAll, reservation, span, rewrite, bracket }: TransactionOptions,
): Promise<StatementResults> {
  const results = new Map<StatementField, FieldResult>(refused);
  if (statements.length === 0) return results;
  const mode = kind === 'mutation' ? 'write' : 'read';
  // A field's last statement has its result.
  const take = (rows: readonly Rows[]): typeof results => {
    rows.forEach((given, index) => {
      const field = origins[index]?.field;
      if (field) results.set(field, given[0]?.[0] ?? 'null');
    });
    if (!rewrite) return results;
    for (const [field, given] of results) if (typeof given === 'string') results.set(field, rewrite(given));
    return results;
  };
  const around = bracket && { ...bracket, after: (rows: readonly Rows[]) => bracket.after(take(rows)) };
  const onlyInserts = origins.every(({ field }) => field.onlyInserts === true);
  const request = { tenantid, mode, statements, onlyInserts, reservation, span } as const;
  const outcome = await transactions.run(around ? { ...request, bracket: around } : request);
  if (outcome.kind === 'failed') {
    const failed = outcome.statement === undefined ? undefined : origins[outcome.statement];
    if (!failed) throw shownTo(seesAll, constraintError(outcome.error, catalog));
    const { field, planned } = failed;
    const { slots } = planned;
    const read = (sent: readonly TransactionStatement[]) =>
      transactions.run({ tenantid, mode: 'read', statements: sent, reservation });
    const error =
      mode === 'read'
        ? readError(outcome.error, { slots, inputs, seesAll })
        : await writeError(outcome.error, { field, slots, catalog, inputs, read });
    throw new FieldError(shownTo(seesAll, error), field.path, field.nodes);
  }
  return around ? results : take(outcome.results);
}

/** Who sees all rows also sees what PostgreSQL said of the tenant's code, which may hold values of them. */
function shownTo(seesAll: boolean, error: AppError): AppError {
  const { code, cause } = error;
  if (!seesAll || code !== 'TENANT_CODE_FAILED' || !isServerError(cause)) return error;
  return error.withDetails({ ...error.details, detail: shortened(cause.message) });
}
