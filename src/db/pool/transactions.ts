import type pg from 'pg';
import { AppError } from '../../foundation/errors.js';
import type { ResponseReservation } from './responseBudget.js';
import type { Lease } from './connectionPool.js';
import type { Canceler } from './deadline.js';
import type { TenantConnections } from '../isolation/tenantConnections.js';
import { PipelinedConnection, type PipelinedTransaction } from './pipelinedConnection.js';
import { openingStatements } from './openingStatements.js';
import { runPipeline, type PipelineResult, type PipelineStep, type StatementTrace } from '../wire/index.js';
import { isHot, noteRun, preparedText, PreparedStatements, type PreparedText } from './preparedStatements.js';
import { outcomesOf } from './sharedOutcomes.js';
import { TurnBatcher } from './turnBatcher.js';
import { WriteGroups } from './writeGroups.js';
import { failed, type TransactionOutcome } from '../failover/transactionOutcome.js';
import type { TransactionRequest, TransactionStatement } from './transactionRequest.js';
import { tracedTransaction } from './transactionSpan.js';
import { isServerError, isRaised, isSessionEnd, READ_ONLY } from '../sql/sqlState.js';

export type { TransactionOutcome } from '../failover/transactionOutcome.js';
export type { TransactionRequest, TransactionStatement } from './transactionRequest.js';

/** Slower statements are not pipelined: that would save little and delay those behind them a lot. */
const QUICK_MS = 1;
/** Connections that one tenant's quick reads share: enough to keep one process busy. */
const MAX_CONNECTIONS_PER_TENANT = 4;
/** Quick reads of one turn of the event loop that share a transaction. PostgreSQL sends the results once the last of them is done. */
const MIN_READS_TOGETHER = 4;
const MAX_READS_TOGETHER = 8;

/** The same for inserts, whose time contains the commit. */
const QUICK_INSERT_MS = 10;

/** A request that waits for its outcome. */
interface Pending {
  readonly request: TransactionRequest;
  readonly traceparent?: string | undefined;
  readonly resolve: (outcome: TransactionOutcome | Promise<TransactionOutcome>) => void;
  readonly reject: (error: Error) => void;
}

/**
 * Runs statements as one tenant, in one transaction and one round trip. On a shared connection the first statement switches
 * to the tenant's role; if that fails, PostgreSQL skips the rest. A statement that must prevent the commit has to fail
 * inside PostgreSQL.
 *
 * A tenant's quick reads of one turn of the event loop share transactions, which are pipelined on a few connections:
 * switching roles, ending the transaction, system calls and context switches are most of what a quick read costs. Quick inserts
 * that arrive while others of their tenant are being committed share a transaction as well: if it fails, nothing of it was
 * done, and each is repeated alone.
 */
export class Transactions {
  readonly #prepared: PreparedStatements;
  readonly #quick = new TurnBatcher<number | null, Pending>((tenantid, reads) =>
    this.#share(tenantid, reads),
  );
  readonly #inserts = new WriteGroups<Pending>((tenantid, group) => this.#runTogether(tenantid, group));
  /** Connections in use for quick reads, by tenant. */
  readonly #pipelined = new Map<number | null, Set<PipelinedConnection>>();
  readonly #commit = preparedText('commit');
  readonly #rollback = preparedText('rollback');

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
    const { tenantid } = request;
    if (isQuickRead(request)) {
      return new Promise((resolve, reject) => {
        this.#quick.add(tenantid, { request, resolve, reject });
      });
    }
    // A tenant's own code might depend on its transaction.
    const mayShare = tenantid !== null && this.connections.loginOf(tenantid) === 'shared' && !traceparent;
    if (mayShare && isQuickInsert(request)) {
      return new Promise((resolve, reject) => {
        this.#inserts.add(tenantid, { request, resolve, reject });
      });
    }
    return this.#runAlone(request, traceparent);
  }

  #runTogether(tenantid: number, group: readonly Pending[]): Promise<void> {
    return new Promise((ended) => {
      this.#pipelinedConnection(tenantid).add([this.#transaction(group, group.length > 1, ended)]);
    });
  }

  #runAlone(
    request: TransactionRequest,
    traceparent?: string,
    repeats = MAX_REPEATS,
  ): Promise<TransactionOutcome> {
    return new Promise((resolve, reject) => {
      const pending = { request, traceparent, resolve, reject };
      this.#pipelinedConnection(request.tenantid).add([
        this.#transaction([pending], false, undefined, repeats),
      ]);
    });
  }

  /** @param group one request, or reads or inserts of one tenant; not empty */
  #transaction(
    group: readonly Pending[],
    isShared: boolean,
    onEnd: () => void = () => undefined,
    repeats = MAX_REPEATS,
  ): PipelinedTransaction {
    return {
      fail: (error) => {
        const outcome = failed(noConnection(error));
        for (const { resolve } of group) resolve(outcome);
        onEnd();
      },
      run: async (lease, deadline) => {
        try {
          const { result, opening, isSound } = await this.#send(lease, group, isShared);
          const inTime = deadline.pass();
          if (lease.login === 'shared' && isRefusedRole(result, opening)) this.#retryOnOwnConnections(group);
          else if (inTime && repeats > 0 && lease.login !== 'shared' && mayRepeat(group, result))
            this.#repeat(group, repeats - 1);
          else {
            const requests = group.map(({ request }) => request);
            this.#settle(group, outcomesOf(requests, result, { opening, inTime }));
          }
          return isSound;
        } catch (error) {
          const cause =
            error instanceof Error ? error : new Error('the transaction could not be sent', { cause: error });
          for (const { reject } of group) reject(cause);
          return false;
        } finally {
          onEnd();
        }
      },
    };
  }

  /** Nothing has run: the tenant needs connections of its own. */
  #retryOnOwnConnections(group: readonly Pending[]): void {
    for (const { request, traceparent, resolve } of group) {
      if (request.tenantid !== null) this.connections.refused(request.tenantid);
      resolve(this.#runAlone(request, traceparent));
    }
  }

  /** The session was ended while it was idle, because shared connections serve the tenant from now on. */
  #repeat(group: readonly Pending[], repeats: number): void {
    for (const { request, traceparent, resolve } of group)
      resolve(this.#runAlone(request, traceparent, repeats));
  }

  #settle(group: readonly Pending[], outcomes: readonly (TransactionOutcome | 'repeat')[]): void {
    for (const [index, { request, resolve }] of group.entries()) {
      const outcome = outcomes[index];
      resolve(outcome === undefined || outcome === 'repeat' ? this.#runAlone(request) : outcome);
    }
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

  /** Spreads the reads over the tenant's connections, the least loaded first. */
  #share(tenantid: number | null, reads: readonly Pending[]): void {
    const fairShare = Math.ceil(reads.length / MAX_CONNECTIONS_PER_TENANT);
    const size = Math.min(MAX_READS_TOGETHER, Math.max(MIN_READS_TOGETHER, fairShare));
    const work: PipelinedTransaction[] = [];
    for (let start = 0; start < reads.length; start += size) {
      work.push(this.#transaction(reads.slice(start, start + size), true));
    }
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
    group: readonly Pending[],
    isShared: boolean,
  ): Promise<{ readonly result: PipelineResult; readonly opening: number; readonly isSound: boolean }> {
    const { client } = lease;
    const [first] = group;
    if (!first) throw new Error('a transaction needs a request');
    const { tenantid, mode, bracket } = first.request;
    const opening = openingStatements(this.connections, lease, first.request, {
      traceparent: first.traceparent,
      isShared,
      isPooled: this.options.canceler.isPooled,
    });
    const step = (
      { statement, values }: TransactionStatement,
      reservation?: ResponseReservation,
    ): PipelineStep => ({
      text: statement.text,
      values,
      reservation,
      ...this.#prepared.use(client, statement),
    });
    const steps = [
      ...opening.map((item) => step(item)),
      ...group.flatMap(({ request }) => request.statements.map((item) => step(item, request.reservation))),
    ];
    // A write is not cut off: nobody would know whether it was committed. Neither is what others come after.
    const onExcess = mode === 'read' && !isShared ? 'stop' : 'finish';
    const sentAt = performance.now();
    const opened = await runPipeline(client, steps, { onExcess, trace: this.options.trace });
    const result = bracket ? await this.#end(client, opened, opening.length, bracket) : opened;
    const sent = { result, opening: opening.length };
    if (result.error) return { isSound: isUsable(result.error), ...sent };
    if (tenantid !== null) lease.servedTenant = tenantid;
    const parsed = steps.flatMap(({ parse, name }) => (parse && name !== '' ? [name] : []));
    if (parsed.length > 0) this.#prepared.confirm(client, parsed);
    const ms = (performance.now() - sentAt) / group.length;
    for (const { request } of group) for (const { statement } of request.statements) noteRun(statement, ms);
    return { isSound: onExcess === 'finish' || result.refusals.size === 0, ...sent };
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
    const isRefused = opened.refusals.size > 0;
    const isStarted = opened.error === undefined && !isRefused;
    const closed = isStarted
      ? await send(after(opened.rows.slice(opening)), { statement: this.#commit, values: [] })
      : opened;
    const error = opened.error ?? closed.error;
    if (isRefused || (error && isUsable(error))) await send({ statement: this.#rollback, values: [] });
    return error ? { ...opened, error } : opened;
  }
}

/** Of sessions that `pg_terminate_backend` ends. */
const TERMINATED = '57P01';

/** Of a request on a connection whose session was ended: the pool may hold more of them. */
const MAX_REPEATS = 3;

/** The shared login is not a member of the role, or there is no such role. */
const REFUSED_ROLE_STATES = new Set(['42501', '22023']);

/** Whether the shared login may not switch to the tenant's role; nothing has run then. */
function isRefusedRole({ error, rows }: PipelineResult, opening: number): boolean {
  return rows.length < opening && isServerError(error) && REFUSED_ROLE_STATES.has(error.code ?? '');
}

/**
 * Whether a transaction whose session PostgreSQL ended has committed nothing: it was a read, or PostgreSQL said so instead of
 * completing the first statement. A busy process writes before it reads that; TCP then drops the message.
 */
function mayRepeat(group: readonly Pending[], result: PipelineResult): boolean {
  const { error } = result;
  const isLost = error !== undefined && !isServerError(error);
  return wasEndedBefore(result) || (isLost && group.every(({ request }) => request.mode === 'read'));
}

/** Whether PostgreSQL ended the session before the first statement was completed. */
function wasEndedBefore({ error, rows }: PipelineResult): boolean {
  return rows.length === 0 && isServerError(error) && error.code === TERMINATED && !isRaised(error);
}

/**
 * Whether others may be pipelined behind it, determined by its statements' fastest runs, which contain no waiting. Not writes:
 * they wait for the disk. Not those with a time limit of their own: they may take that long, and are of several
 * tenants.
 */
function isQuickRead({ mode, statements, statementTimeoutMs }: TransactionRequest): boolean {
  if (statementTimeoutMs !== undefined) return false;
  return mode === 'read' && statements.every(({ statement }) => isQuick(statement, QUICK_MS));
}

/**
 * Not updates: transactions that lock several rows may deadlock. Not several statements: they pass on what they wrote in
 * settings of the transaction.
 */
function isQuickInsert({ onlyInserts, bracket, statements }: TransactionRequest): boolean {
  const [only, ...more] = statements;
  if (onlyInserts !== true || bracket !== undefined || more.length > 0) return false;
  return only !== undefined && isQuick(only.statement, QUICK_INSERT_MS);
}

function isQuick(statement: PreparedText, maxMs: number): boolean {
  return isHot(statement) && (statement.quickestMs ?? Infinity) <= maxMs;
}

function noConnection(cause: unknown): AppError {
  if (cause instanceof AppError) return cause;
  return new AppError('DATABASE_UNAVAILABLE', 'No database connection was available.', { cause });
}

const UNPREPARED = { name: '', parse: true, close: [] };

/** Errors if a connection's prepared statements are not the ones we think it has. */
const STATEMENTS_DIFFER = new Set(['26000', '42P05', READ_ONLY]);

/** A connection returns to the pool only if PostgreSQL responded, the session goes on, and its state is known. */
function isUsable(error: Error): boolean {
  const { code } = error as { code?: string };
  return isServerError(error) && !isSessionEnd(error) && !STATEMENTS_DIFFER.has(code ?? '');
}
