import pg from 'pg';
import type { AppError } from '../../foundation/errors.js';
import type { SqlText } from '../sql/sql.js';
import type { PgConnection } from './pgClient.js';
import { WireMessages } from './wireMessages.js';
import { wireText } from './wireText.js';

/** The rows of one statement; each is a list of column values as text. */
export type Rows = readonly (readonly (string | null)[])[];

/** Counts the bytes of rows as they arrive. */
interface RowMeter {
  /** @returns the error that rejects the result, if it is too large */
  readonly reserve: (bytes: number) => AppError | undefined;
}

/** Told of a completed statement and its duration. */
export type StatementTrace = (statement: TracedStatement, ms: number) => void;

interface TracedStatement {
  /** The prepared statement's name; empty or absent if it is not prepared. */
  readonly name?: string | undefined;
  readonly text: string;
}

/** One statement on the wire. */
export interface PipelineStep {
  readonly text: SqlText;
  readonly values: readonly unknown[];
  /** Name of the prepared statement; empty for none. */
  readonly name: string;
  readonly parse: boolean;
  readonly close: readonly string[];
  /** Counts its rows as they arrive; absent if they are known to be few. */
  readonly reservation?: RowMeter | undefined;
}

export interface PipelineResult {
  /** Results of the completed statements. */
  readonly rows: readonly Rows[];
  /** Results that were rejected while they arrived, and why; their rows are incomplete. */
  readonly refusals: ReadonlyMap<RowMeter, AppError>;
  /** What ended the pipeline, raised by the statement at `rows.length`, or by the commit if all statements completed. */
  readonly error?: Error;
}

export interface PipelineOptions {
  /** Whether a result that is too large stops the statements or lets them finish. */
  readonly onExcess?: 'stop' | 'finish';
  readonly trace?: StatementTrace | undefined;
}

const PgQuery = pg.Query as unknown as new (config: { text: string }) => object;

/**
 * Statements followed by a single Sync: PostgreSQL runs them as one transaction and commits at the Sync; after an error it
 * skips the rest and rolls back. They are sent in one write, without `begin`, `commit` and unused result descriptions:
 * +55 % throughput on point reads compared with a pipelined begin … commit. To pg the object is one of its queries: it
 * calls the methods as messages arrive.
 */
class Pipeline extends PgQuery {
  readonly #message: Buffer;
  readonly #done: (result: PipelineResult) => void;
  readonly #completed: Rows[] = [];
  readonly #refusals = new Map<RowMeter, AppError>();
  #rows: (string | null)[][] = [];
  #stream: PgConnection['stream'] | undefined;
  /** For `trace`: when the previous statement's result arrived, or the first statement was sent. */
  #lastResponseAt = 0;
  /** pg expects one. */
  readonly callback = (): void => undefined;

  constructor(
    private readonly steps: readonly PipelineStep[],
    private readonly options: PipelineOptions,
    done: (result: PipelineResult) => void,
  ) {
    super({ text: '' });
    this.#message = messageOf(steps, options.trace !== undefined);
    this.#done = done;
  }

  submit(connection: PgConnection): null {
    if (this.options.trace) this.#lastResponseAt = performance.now();
    this.#stream = connection.stream;
    connection.stream.write(this.#message);
    return null;
  }

  handleDataRow(message: { readonly length: number; readonly fields: (string | null)[] }): void {
    const reservation = this.steps[this.#completed.length]?.reservation;
    if (reservation) {
      if (this.#refusals.has(reservation)) return;
      const refusal = reservation.reserve(message.length);
      if (refusal) {
        this.#refuse(reservation, refusal);
        return;
      }
    }
    this.#rows.push(message.fields);
  }

  #refuse(reservation: RowMeter, refusal: AppError): void {
    this.#refusals.set(reservation, refusal);
    this.#rows = [];
    this.steps.forEach((step, index) => {
      if (step.reservation === reservation && index < this.#completed.length) this.#completed[index] = [];
    });
    if (this.options.onExcess !== 'stop') return;
    // PostgreSQL ends the statements when it can't write to its client.
    this.#stream?.destroy();
    this.#end();
  }

  handleCommandComplete(): void {
    this.#traceNext();
    this.#completed.push(this.#rows);
    this.#rows = [];
  }

  handleReadyForQuery(): void {
    this.#end();
  }

  handleError(error: Error): void {
    this.#traceNext();
    this.#end(error);
  }

  /** Traces the statement whose result just arrived. */
  #traceNext(): void {
    const step = this.steps[this.#completed.length];
    const { trace } = this.options;
    if (!trace || !step) return;
    const now = performance.now();
    trace(step, now - this.#lastResponseAt);
    this.#lastResponseAt = now;
  }

  #end(error?: Error): void {
    this.#done({
      rows: this.#completed,
      refusals: this.#refusals,
      ...(error ? { error } : {}),
    });
  }
}

/** @param isTimed makes PostgreSQL send each result as its statement ends, which costs more system calls */
function messageOf(steps: readonly PipelineStep[], isTimed: boolean): Buffer {
  const messages = new WireMessages();
  for (const { text, values, name, parse, close } of steps) {
    for (const gone of close) messages.close(gone);
    if (parse) messages.parse(name, text);
    messages.bind(name, values.map(wireText));
    messages.execute();
    if (isTimed) messages.flush();
  }
  messages.sync();
  return messages.done();
}

/** Runs the statements as one transaction. Nothing else may use the connection in the meantime. */
export function runPipeline(
  client: pg.ClientBase,
  steps: readonly PipelineStep[],
  options: PipelineOptions,
): Promise<PipelineResult> {
  return new Promise((resolve) => {
    // eslint-disable-next-line rowpost/static-sql -- the texts of its steps are `SqlText`
    client.query(new Pipeline(steps, options, resolve) as unknown as pg.Submittable);
  });
}
