import type { Pool, PoolClient } from 'pg';
import { AppError } from '../errors.js';
import type { AnswerShare } from './answerBudget.js';
import { runPipeline, type PipelineResult, type PipelineStep, type Rows } from './pipeline.js';
import { preparedText, PreparedStatements, type PreparedText } from './preparedStatements.js';
import { isDatabaseAnswer, isSessionEnd, toAppError } from './sqlState.js';

export interface TransactionStatement {
  readonly statement: PreparedText;
  readonly values: readonly unknown[];
}

export interface TransactionRequest {
  /** The PostgreSQL role to enter, e.g. `tenant_7`; null stays the service's own. */
  readonly role: string | null;
  readonly mode: 'read' | 'write';
  readonly statements: readonly TransactionStatement[];
  /** Counts what arrives; released by the caller. Without one the answer is known to be small. */
  readonly answer?: AnswerShare;
}

export type TransactionOutcome =
  | { readonly kind: 'done'; readonly results: readonly Rows[] }
  /** Nothing was changed, unless the error is OUTCOME_UNKNOWN. `statement` is the index of the one that failed. */
  | { readonly kind: 'failed'; readonly error: AppError; readonly statement: number | undefined };

/** The database role of a tenant: it owns the tenant's schema and can reach nothing else. */
export function tenantRole(tenantid: number): string {
  return `tenant_${tenantid}`;
}

/**
 * Runs statements in one transaction under one role, in one round trip. The role is entered by the first of them: where
 * that fails, PostgreSQL skips the rest. A statement that must stop the commit has to fail in PostgreSQL.
 */
export class Transactions {
  readonly #prepared = new PreparedStatements();
  readonly #enterAndRead = preparedText(
    "select set_config('role', $1, true), set_config('transaction_read_only', 'on', true)",
  );
  readonly #enterAndWrite = preparedText("select set_config('role', $1, true)");

  constructor(private readonly pool: Pool) {}

  async run(request: TransactionRequest): Promise<TransactionOutcome> {
    let client: PoolClient;
    try {
      client = await this.pool.connect();
    } catch (error) {
      const message = 'No connection to the database could be had.';
      return failed(new AppError('DATABASE_UNAVAILABLE', message, { cause: error }));
    }
    // The pipeline reports a broken connection; without a listener the event would end the process.
    client.on('error', alreadyReported);
    let isDoubtful = true;
    try {
      const result = await this.#send(client, request);
      isDoubtful = isStopped(request, result) || (result.error !== undefined && !isUsable(result.error));
      return judge(request, result);
    } finally {
      client.removeListener('error', alreadyReported);
      client.release(isDoubtful);
    }
  }

  async #send(client: PoolClient, request: TransactionRequest): Promise<PipelineResult> {
    const { role, mode, statements, answer: share } = request;
    const enter = mode === 'read' ? this.#enterAndRead : this.#enterAndWrite;
    // 'none' is PostgreSQL's word for no other role.
    const opening = { statement: enter, values: [role ?? 'none'] };
    const steps = [opening, ...statements].map((item): PipelineStep => ({
      text: item.statement.text,
      values: item.values,
      ...this.#prepared.use(client, item.statement),
    }));
    // A write is not cut off: nobody would know whether it was committed.
    const onExcess = mode === 'read' ? 'stop' : 'finish';
    const result = await runPipeline(client, steps, share && { share, onExcess });
    if (result.error) {
      const parsed = steps.flatMap((step) => (step.parse && step.name !== '' ? [step.name] : []));
      this.#prepared.doubt(client, parsed);
    }
    return result;
  }
}

function alreadyReported(): void {
  // nothing left to say
}

/** Whether the pipeline was left while its statements were under way. */
function isStopped({ mode }: TransactionRequest, { refusal }: PipelineResult): boolean {
  return mode === 'read' && refusal !== undefined;
}

function judge(
  { mode, statements }: TransactionRequest,
  { rows, refusal, error }: PipelineResult,
): TransactionOutcome {
  if (refusal && mode === 'read') return failed(refusal);
  if (refusal && error === undefined) return failed(committedUnanswered(refusal));
  // The first result is that of entering the role.
  if (error === undefined) return { kind: 'done', results: rows.slice(1) };
  const failedAt = rows.length - 1;
  const isCommit = failedAt === statements.length;
  if (!isDatabaseAnswer(error) || (isCommit && isSessionEnd(error))) {
    if (mode === 'read') return failed(toAppError(error));
    const message = 'The connection broke before the commit was confirmed.';
    return failed(new AppError('OUTCOME_UNKNOWN', message, { cause: error }));
  }
  if (failedAt < 0 && !isSessionEnd(error)) {
    return failed(new AppError('INTERNAL_ERROR', 'The tenant has no database role.', { cause: error }));
  }
  return failed(toAppError(error), failedAt < 0 || isCommit ? undefined : failedAt);
}

function committedUnanswered(refusal: AppError): AppError {
  const message = `The changes were made, but their rows can't be answered: ${refusal.message}`;
  const hint = 'Read the rows before repeating the mutation.';
  return new AppError('OUTCOME_UNKNOWN', message, { hint, cause: refusal });
}

function failed(error: AppError, statement?: number): TransactionOutcome {
  return { kind: 'failed', error, statement };
}

/** What PostgreSQL says when a connection does not hold the named statements that we think it holds. */
const STATEMENTS_DIFFER = new Set(['26000', '42P05', '25006']);

/** A connection goes back to the pool only when PostgreSQL answered, stays with us, and is as we think it is. */
function isUsable(error: Error): boolean {
  const { code } = error as { code?: string };
  return isDatabaseAnswer(error) && !isSessionEnd(error) && !STATEMENTS_DIFFER.has(code ?? '');
}
