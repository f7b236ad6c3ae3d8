import type { Pool, PoolClient } from 'pg';
import { AppError } from '../errors.js';
import type { AnswerShare } from './answerBudget.js';
import { Lane, type LaneWork } from './lane.js';
import { runPipeline, type PipelineResult, type PipelineStep, type Rows } from './pipeline.js';
import { isHot, noteRun, preparedText, PreparedStatements, type PreparedText } from './preparedStatements.js';
import { SharedTurn } from './sharedTurn.js';
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

/** What takes longer has a connection to itself: it would save little, and hold up much. */
const QUICK_MS = 1;
/** Connections for the quick reads of one role: more than one process keeps busy with them. */
const MOST_LANES = 4;

/** The database role of a tenant: it owns the tenant's schema and can reach nothing else. */
export function tenantRole(tenantid: number): string {
  return `tenant_${tenantid}`;
}

/**
 * Runs statements in one transaction under one role, in one round trip. The role is entered by the first of them: where
 * that fails, PostgreSQL skips the rest. A statement that must stop the commit has to fail in PostgreSQL.
 *
 * Quick reads of one role share a few connections, on which they follow each other without a wait; those of one
 * turn of the event loop leave in one write. System calls and the wakening of processes are half of what they cost.
 */
export class Transactions {
  readonly #prepared = new PreparedStatements();
  readonly #quick = new SharedTurn<string | null, LaneWork>((role, work) => this.#share(role, work));
  /** The connections that the quick reads of a role share at the moment. */
  readonly #lanes = new Map<string | null, Set<Lane>>();
  readonly #enterAndRead = preparedText(
    "select set_config('role', $1, true), set_config('transaction_read_only', 'on', true)",
  );
  readonly #enterAndWrite = preparedText("select set_config('role', $1, true)");

  /** @param timeoutMs longest time of one transaction, all of its statements together */
  constructor(
    private readonly pool: Pool,
    private readonly timeoutMs: number,
  ) {}

  run(request: TransactionRequest): Promise<TransactionOutcome> {
    return new Promise((resolve, reject) => {
      const isShared = isQuick(request);
      const work: LaneWork = {
        fail: (error) => {
          const message = 'No connection to the database could be had.';
          resolve(failed(new AppError('DATABASE_UNAVAILABLE', message, { cause: error })));
        },
        run: async (client, deadline) => {
          try {
            const sent = await this.#send(client, request, isShared);
            resolve(deadline.pass() ? judge(request, sent.result) : judgeLate(request, sent.result));
            return sent.isSound;
          } catch (error) {
            reject(error instanceof Error ? error : new Error('it could not be sent', { cause: error }));
            return false;
          }
        },
      };
      if (isShared) this.#quick.add(request.role, work);
      else new Lane(this.pool, this.timeoutMs).add([work]);
    });
  }

  /** Spreads the work over the role's lanes, the emptiest first. */
  #share(role: string | null, work: readonly LaneWork[]): void {
    let lanes = this.#lanes.get(role);
    if (!lanes) this.#lanes.set(role, (lanes = new Set()));
    const open = [...lanes].filter((lane) => lane.isOpen);
    while (open.length < MOST_LANES) {
      const lane = new Lane(this.pool, this.timeoutMs, (ended) => this.#leave(role, ended));
      open.push(lane);
    }
    open.sort((one, other) => one.load - other.load);
    const share = Math.ceil(work.length / MOST_LANES);
    for (let start = 0; start < work.length; start += share) {
      const lane = open.shift();
      if (!lane) throw new Error('there are as many lanes as shares');
      lanes.add(lane);
      lane.add(work.slice(start, start + share));
    }
  }

  #leave(role: string | null, lane: Lane): void {
    const lanes = this.#lanes.get(role);
    lanes?.delete(lane);
    if (lanes?.size === 0) this.#lanes.delete(role);
  }

  async #send(
    client: PoolClient,
    { role, mode, statements, answer: share }: TransactionRequest,
    isShared: boolean,
  ): Promise<{ readonly result: PipelineResult; readonly isSound: boolean }> {
    const enter = mode === 'read' ? this.#enterAndRead : this.#enterAndWrite;
    // 'none' is PostgreSQL's word for no other role.
    const opening = { statement: enter, values: [role ?? 'none'] };
    const steps = [opening, ...statements].map((item): PipelineStep => ({
      text: item.statement.text,
      values: item.values,
      ...this.#prepared.use(client, item.statement),
    }));
    // A write is not cut off: nobody would know whether it was committed. Neither is what others come after.
    const onExcess = mode === 'read' && !isShared ? 'stop' : 'finish';
    const sentAt = performance.now();
    const result = await runPipeline(client, steps, share && { share, onExcess });
    if (result.error) return { result, isSound: isUsable(result.error) };
    const parsed = steps.flatMap((step) => (step.parse && step.name !== '' ? [step.name] : []));
    if (parsed.length > 0) this.#prepared.confirm(client, parsed);
    const ms = performance.now() - sentAt;
    for (const { statement } of statements) noteRun(statement, ms);
    return { result, isSound: onExcess === 'finish' || result.refusal === undefined };
  }
}

/**
 * Whether others may wait behind it on its connection: by its statements' own quickest runs, which hold no waiting. A
 * write waits for the disk, and PostgreSQL flushes the commits of many connections at once.
 */
function isQuick({ mode, statements }: TransactionRequest): boolean {
  return (
    mode === 'read' &&
    statements.every(({ statement }) => isHot(statement) && (statement.quickestMs ?? Infinity) <= QUICK_MS)
  );
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

/** The cancellation ended it, unless it ended by itself just before. */
function judgeLate(request: TransactionRequest, result: PipelineResult): TransactionOutcome {
  const { code } = (result.error ?? {}) as { code?: string };
  if (code !== QUERY_CANCELED) return judge(request, result);
  const message = 'The request took too long and was ended; nothing was changed.';
  return failed(new AppError('REQUEST_TIMEOUT', message, { cause: result.error }));
}

function committedUnanswered(refusal: AppError): AppError {
  const message = `The changes were made, but their rows can't be answered: ${refusal.message}`;
  const hint = 'Read the rows before repeating the mutation.';
  return new AppError('OUTCOME_UNKNOWN', message, { hint, cause: refusal });
}

function failed(error: AppError, statement?: number): TransactionOutcome {
  return { kind: 'failed', error, statement };
}

const QUERY_CANCELED = '57014';

/** What PostgreSQL says when a connection does not hold the named statements that we think it holds. */
const STATEMENTS_DIFFER = new Set(['26000', '42P05', '25006']);

/** A connection goes back to the pool only when PostgreSQL answered, stays with us, and is as we think it is. */
function isUsable(error: Error): boolean {
  const { code } = error as { code?: string };
  return isDatabaseAnswer(error) && !isSessionEnd(error) && !STATEMENTS_DIFFER.has(code ?? '');
}
