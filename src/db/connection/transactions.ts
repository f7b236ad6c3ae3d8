import type pg from 'pg';
import { AppError } from '../../errors.js';
import type { AnswerShare } from '../answerBudget.js';
import type { Lease } from './connectionPool.js';
import type { Canceler } from './deadline.js';
import type { TenantConnections } from './tenantConnections.js';
import { PipelinedConnection, type PipelinedTransaction } from './pipelinedConnection.js';
import { runPipeline, type PipelineResult, type PipelineStep, type Rows } from './pipeline.js';
import { isHot, noteRun, preparedText, PreparedStatements, type PreparedText } from './preparedStatements.js';
import type { StatementTrace } from './statementTrace.js';
import { TickBatcher } from './tickBatcher.js';
import { tracedTransaction } from './transactionSpan.js';
import type { Span } from '../../tracing/tracing.js';
import { isConnectionFailure, isDatabaseAnswer, isRefusal, isSessionEnd, toAppError } from '../sqlState.js';

export interface TransactionStatement {
  readonly statement: PreparedText;
  readonly values: readonly unknown[];
}

export interface TransactionRequest {
  /** The tenant whose role runs the statements; null for the service's own. */
  readonly tenantid: number | null;
  readonly mode: 'read' | 'write';
  readonly statements: readonly TransactionStatement[];
  /** A write's own bookkeeping: nothing is committed unless all of it succeeds. Costs a second round trip. */
  readonly bracket?: {
    readonly before: TransactionStatement;
    /** Built from the results of the statements. */
    readonly after: (results: readonly Rows[]) => TransactionStatement;
  };
  /** Counts the bytes that arrive; released by the caller. Absent if the result is known to be small. */
  readonly answer?: AnswerShare;
  /** The parent of the transaction's span. */
  readonly span?: Span | undefined;
}

export type TransactionOutcome =
  | { readonly kind: 'done'; readonly results: readonly Rows[] }
  /** Nothing was changed, unless the error is OUTCOME_UNKNOWN. `statement` is the index of the one that failed. */
  | { readonly kind: 'failed'; readonly error: AppError; readonly statement: number | undefined };

/** Slower statements are not pipelined: that would save little and delay those behind them a lot. */
const QUICK_MS = 1;
/** Connections that one tenant's quick reads share: enough to keep one process busy. */
const MAX_CONNECTIONS_PER_TENANT = 4;

/**
 * Runs statements as one tenant, in one transaction and one round trip. On a shared connection the first statement switches
 * to the tenant's role; if that fails, PostgreSQL skips the rest. A statement that must prevent the commit has to fail
 * inside PostgreSQL.
 *
 * A tenant's quick reads are pipelined on a few connections, and those of one tick of the event loop are sent in one write:
 * system calls and context switches are half of their cost.
 */
export class Transactions {
  readonly #prepared: PreparedStatements;
  readonly #quick = new TickBatcher<number | null, PipelinedTransaction>((tenantid, work) =>
    this.#share(tenantid, work),
  );
  /** Connections in use for quick reads, by tenant. */
  readonly #pipelined = new Map<number | null, Set<PipelinedConnection>>();
  readonly #begin = preparedText('begin');
  readonly #commit = preparedText('commit');
  readonly #rollback = preparedText('rollback');
  readonly #clean = preparedText('select rowpost_tenant.clean_session()');
  readonly #enter = preparedText("select set_config('role', $1, true)");
  /** Stored with the transaction's events. */
  readonly #trace = preparedText("select set_config('rowpost.traceparent', $1, true)");
  readonly #onlyRead = preparedText("select set_config('transaction_read_only', 'on', true)");
  readonly #enterAndRead = preparedText(
    "select set_config('role', $1, true), set_config('transaction_read_only', 'on', true)",
  );

  constructor(
    private readonly connections: TenantConnections,
    private readonly options: {
      /** Maximum duration of one transaction, all statements together. */
      readonly timeoutMs: number;
      readonly canceler: Canceler;
      /** `PREPARED_STATEMENTS` */
      readonly preparedStatements: boolean;
      readonly trace?: StatementTrace | undefined;
    },
  ) {
    this.#prepared = new PreparedStatements(options.preparedStatements);
  }

  run(request: TransactionRequest): Promise<TransactionOutcome> {
    return tracedTransaction(request, (traceparent) => this.#run(request, traceparent));
  }

  #run(request: TransactionRequest, traceparent: string | undefined): Promise<TransactionOutcome> {
    return new Promise((resolve, reject) => {
      const { tenantid } = request;
      const isShared = isQuick(request);
      const work: PipelinedTransaction = {
        fail: (error) => {
          const message = 'No database connection was available.';
          resolve(failed(new AppError('DATABASE_UNAVAILABLE', message, { cause: error })));
        },
        run: async (lease, deadline) => {
          try {
            const { result, opening, isSound } = await this.#send(lease, request, isShared, traceparent);
            const inTime = deadline.pass();
            if (tenantid !== null && lease.login === 'shared' && isRefusedRole(result, opening)) {
              this.connections.refused(tenantid);
              resolve(this.#run(request, traceparent));
            } else {
              resolve(inTime ? judge(request, result, opening) : judgeLate(request, result, opening));
            }
            return isSound;
          } catch (error) {
            reject(
              error instanceof Error
                ? error
                : new Error('the transaction could not be sent', { cause: error }),
            );
            return false;
          }
        },
      };
      if (isShared) this.#quick.add(tenantid, work);
      else this.#pipelinedConnection(tenantid).add([work]);
    });
  }

  #pipelinedConnection(
    tenantid: number | null,
    onEnd?: (connection: PipelinedConnection) => void,
  ): PipelinedConnection {
    const { connections, options } = this;
    const source = {
      acquire: () => connections.acquire(tenantid),
      get isBusy() {
        return connections.isBusy(tenantid);
      },
      canceler: options.canceler,
    };
    return new PipelinedConnection(source, options.timeoutMs, onEnd);
  }

  /** Spreads the reads over the tenant's connections, least loaded first. */
  #share(tenantid: number | null, work: readonly PipelinedTransaction[]): void {
    let connections = this.#pipelined.get(tenantid);
    if (!connections) this.#pipelined.set(tenantid, (connections = new Set()));
    const open = [...connections].filter((connection) => connection.isOpen);
    while (open.length < MAX_CONNECTIONS_PER_TENANT) {
      open.push(this.#pipelinedConnection(tenantid, (ended) => this.#leave(tenantid, ended)));
    }
    open.sort((one, other) => one.load - other.load);
    const share = Math.ceil(work.length / MAX_CONNECTIONS_PER_TENANT);
    for (let start = 0; start < work.length; start += share) {
      const connection = open.shift();
      if (!connection) throw new Error('there are as many connections as shares');
      connections.add(connection);
      connection.add(work.slice(start, start + share));
    }
  }

  #leave(tenantid: number | null, connection: PipelinedConnection): void {
    const connections = this.#pipelined.get(tenantid);
    connections?.delete(connection);
    if (connections?.size === 0) this.#pipelined.delete(tenantid);
  }

  async #send(
    lease: Lease,
    request: TransactionRequest,
    isShared: boolean,
    traceparent: string | undefined,
  ): Promise<{ readonly result: PipelineResult; readonly opening: number; readonly isSound: boolean }> {
    const { client } = lease;
    const { tenantid, mode, statements, answer: share } = request;
    const opening = this.#opening(lease, request, traceparent);
    const steps = [...opening, ...statements].map((item): PipelineStep => ({
      text: item.statement.text,
      values: item.values,
      ...this.#prepared.use(client, item.statement),
    }));
    // A write is not cut off, or nobody would know whether it was committed. Nor are transactions with others behind them.
    const onExcess = mode === 'read' && !isShared ? 'stop' : 'finish';
    const sentAt = performance.now();
    const opened = await runPipeline(client, steps, {
      answer: share && { share, onExcess },
      trace: this.options.trace,
    });
    const result = request.bracket
      ? await this.#end(client, opened, opening.length, request.bracket)
      : opened;
    const sent = { result, opening: opening.length };
    if (result.error) return { ...sent, isSound: isUsable(result.error) };
    if (tenantid !== null) lease.servedTenant = tenantid;
    const parsed = steps.flatMap((step) => (step.parse && step.name !== '' ? [step.name] : []));
    if (parsed.length > 0) this.#prepared.confirm(client, parsed);
    const ms = performance.now() - sentAt;
    for (const { statement } of statements) noteRun(statement, ms);
    return { ...sent, isSound: onExcess === 'finish' || result.refusal === undefined };
  }

  /** Runs the closing bookkeeping and commits; rolls back if something failed or the response can't be sent. */
  async #end(
    client: pg.ClientBase,
    opened: PipelineResult,
    opening: number,
    { after }: NonNullable<TransactionRequest['bracket']>,
  ): Promise<PipelineResult> {
    const send = (...statements: TransactionStatement[]): Promise<PipelineResult> => {
      const steps = statements.map(({ statement: { text }, values }) => ({ ...UNPREPARED, text, values }));
      return runPipeline(client, steps, { trace: this.options.trace });
    };
    const isBegun = opened.error === undefined && opened.refusal === undefined;
    const closed = isBegun
      ? await send(after(opened.rows.slice(opening)), { statement: this.#commit, values: [] })
      : opened;
    const error = opened.error ?? closed.error;
    if (closed.refusal || (error && isUsable(error))) await send({ statement: this.#rollback, values: [] });
    return error ? { ...opened, error } : opened;
  }

  /** Statements that precede the request's own. */
  #opening(
    lease: Lease,
    request: TransactionRequest,
    traceparent: string | undefined,
  ): readonly TransactionStatement[] {
    const entering = this.#entering(lease, request);
    const traced = traceparent === undefined ? [] : [{ statement: this.#trace, values: [traceparent] }];
    const { bracket } = request;
    return bracket
      ? [{ statement: this.#begin, values: [] }, ...entering, ...traced, bracket.before]
      : [...entering, ...traced];
  }

  #entering(lease: Lease, { tenantid, mode }: TransactionRequest): readonly TransactionStatement[] {
    if (tenantid === null || lease.login !== 'shared') {
      return mode === 'read' ? [{ statement: this.#onlyRead, values: [] }] : [];
    }
    const enter = {
      statement: mode === 'read' ? this.#enterAndRead : this.#enter,
      values: [this.connections.role(tenantid)],
    };
    // Behind a pooler, the session may be any that others have used.
    const isClean = lease.servedTenant === tenantid && !this.options.canceler.isPooled;
    return isClean ? [enter] : [{ statement: this.#clean, values: [] }, enter];
  }
}

/** The shared login is not a member of the role, or there is no such role. */
const REFUSED_ROLE_STATES = new Set(['42501', '22023']);

/** Whether the shared login may not switch to the tenant's role; nothing has run then. */
function isRefusedRole({ error, rows }: PipelineResult, opening: number): boolean {
  return rows.length < opening && isDatabaseAnswer(error) && REFUSED_ROLE_STATES.has(error.code ?? '');
}

/**
 * Whether others may be pipelined behind it, judged by its statements' fastest runs, which contain no waiting. Not writes:
 * they wait for the disk, and PostgreSQL can flush the commits of many connections together.
 */
function isQuick({ mode, statements }: TransactionRequest): boolean {
  return (
    mode === 'read' &&
    statements.every(({ statement }) => isHot(statement) && (statement.quickestMs ?? Infinity) <= QUICK_MS)
  );
}

function judge(
  { mode, statements, bracket }: TransactionRequest,
  { rows, refusal, error }: PipelineResult,
  opening: number,
): TransactionOutcome {
  if (refusal && (mode === 'read' || bracket)) return failed(refusal);
  if (refusal && error === undefined) return failed(committedUnanswered(refusal));
  if (error === undefined) return { kind: 'done', results: rows.slice(opening) };
  const failedAt = rows.length - opening;
  const isCommit = failedAt === statements.length;
  if (!isDatabaseAnswer(error) || isConnectionFailure(error) || (isCommit && isSessionEnd(error))) {
    if (mode === 'read') return failed(toAppError(error));
    const message = 'The connection broke before the commit was confirmed.';
    return failed(new AppError('OUTCOME_UNKNOWN', message, { cause: error }));
  }
  if (failedAt < 0 && !isSessionEnd(error) && !isRefusal(error)) {
    return failed(new AppError('INTERNAL_ERROR', 'The transaction could not begin.', { cause: error }));
  }
  if (mode === 'read' && error.code === READ_ONLY) {
    return failed(
      new AppError('INTERNAL_ERROR', 'A read tried to make changes.', { cause: error }),
      failedAt,
    );
  }
  return failed(toAppError(error), failedAt < 0 || isCommit ? undefined : failedAt);
}

/** The outcome after a cancellation was sent: it ended the transaction, unless the transaction ended just before. */
function judgeLate(request: TransactionRequest, result: PipelineResult, opening: number): TransactionOutcome {
  const { code } = (result.error ?? {}) as { code?: string };
  if (code !== QUERY_CANCELED) return judge(request, result, opening);
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
/** Raised by changes in reads, which run read-only, and by all changes while the server is read-only. */
const READ_ONLY = '25006';

const UNPREPARED = { name: '', parse: true, close: [] };

/** Errors if a connection's prepared statements are not the ones we think it has. */
const STATEMENTS_DIFFER = new Set(['26000', '42P05', READ_ONLY]);

/** A connection returns to the pool only if PostgreSQL responded, the session goes on, and its state is known. */
function isUsable(error: Error): boolean {
  const { code } = error as { code?: string };
  return isDatabaseAnswer(error) && !isSessionEnd(error) && !STATEMENTS_DIFFER.has(code ?? '');
}
