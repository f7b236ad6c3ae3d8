import { AppError } from '../../foundation/errors.js';
import {
  isConnectionFailure,
  isServerError,
  isRaised,
  isRefusal,
  isSessionEnd,
  QUERY_CANCELED,
  READ_ONLY,
} from '../sql/sqlState.js';
import { toAppError } from '../sql/toAppError.js';
import type { Rows } from '../pool/transactionRequest.js';

export type TransactionOutcome =
  | { readonly kind: 'done'; readonly results: readonly Rows[] }
  /** Nothing was changed, unless the error is OUTCOME_UNKNOWN. `statement` is the index of the one that failed. */
  | { readonly kind: 'failed'; readonly error: AppError; readonly statement: number | undefined };

/** What matters of a request. */
export interface OutcomeInput {
  readonly mode: 'read' | 'write';
  readonly statements: readonly unknown[];
  /** Whether its own bookkeeping is committed with it. */
  readonly bracket?: object;
}

/** What became of one request's statements. */
export interface EndedStatements {
  /** Of those that were completed. */
  readonly rows: readonly Rows[];
  readonly refusal: AppError | undefined;
  readonly error: Error | undefined;
  /** Whether the transaction got as far as the first of its statements. */
  readonly hasStarted: boolean;
}

/** The outcome of statements that ended in time. */
export function outcomeOf(
  { mode, statements, bracket }: OutcomeInput,
  ended: EndedStatements,
): TransactionOutcome {
  const { rows, refusal, error, hasStarted } = ended;
  if (refusal && (mode === 'read' || bracket)) return failed(refusal);
  if (refusal && error === undefined) return failed(committedWithoutResponse(refusal));
  if (error === undefined) return { kind: 'done', results: rows };
  const isCommit = rows.length === statements.length;
  if (!isServerError(error) || isConnectionFailure(error) || (isCommit && isSessionEnd(error))) {
    if (mode === 'read') return failed(toAppError(error), hasStarted && !isCommit ? rows.length : undefined);
    const message = 'The connection broke before the commit was confirmed.';
    return failed(new AppError('OUTCOME_UNKNOWN', message, { cause: error }));
  }
  if (!hasStarted && !isSessionEnd(error) && !isRefusal(error)) {
    return failed(new AppError('INTERNAL_ERROR', 'The transaction could not begin.', { cause: error }));
  }
  if (mode === 'read' && error.code === READ_ONLY && !isRaised(error)) {
    const message = 'A view or function of the database makes changes while rows are read.';
    return failed(
      new AppError('TENANT_CODE_FAILED', message, { details: { sqlstate: READ_ONLY }, cause: error }),
      rows.length,
    );
  }
  return failed(toAppError(error), !hasStarted || isCommit ? undefined : rows.length);
}

/** The outcome of statements whose time was over: the cancellation ended them, unless they ended by themselves just before. */
export function lateOutcomeOf(request: OutcomeInput, ended: EndedStatements): TransactionOutcome {
  const { code } = (ended.error ?? {}) as { code?: string };
  if (code !== QUERY_CANCELED) return outcomeOf(request, ended);
  const message = 'The request took too long and was ended; nothing was changed.';
  return failed(new AppError('REQUEST_TIMEOUT', message, { cause: ended.error }));
}

function committedWithoutResponse(refusal: AppError): AppError {
  const message = `The changes were made, but their rows can't be returned: ${refusal.message}`;
  const hint = 'Read the rows before repeating the mutation.';
  return new AppError('OUTCOME_UNKNOWN', message, { hint, cause: refusal });
}

export function failed(error: AppError, statement?: number): TransactionOutcome {
  return { kind: 'failed', error, statement };
}
