import pg from 'pg';
import type { AppError } from '../../errors.js';
import type { AnswerShare } from '../answerBudget.js';
import type { StatementTrace } from './statementTrace.js';
import { WireMessages } from './wireMessages.js';
import { wireText } from './wireText.js';

/** One statement on the wire. */
export interface PipelineStep {
  readonly text: string;
  readonly values: readonly unknown[];
  /** Name of the prepared statement; empty for none. */
  readonly name: string;
  readonly parse: boolean;
  readonly close: readonly string[];
  /** Counts its rows as they arrive; absent where they are known to be few. */
  readonly answer?: AnswerShare | undefined;
}

/** Rows of one statement, each a list of its columns as text. */
export type Rows = readonly (readonly (string | null)[])[];

export interface PipelineResult {
  /** Of the statements that were completed. */
  readonly rows: readonly Rows[];
  /** Answers that grew too large while they arrived: their rows are incomplete. */
  readonly refusals: ReadonlyMap<AnswerShare, AppError>;
  /** What ended the pipeline. The statement at `rows.length` raised it; the commit, when all were completed. */
  readonly error?: Error;
}

export interface PipelineOptions {
  /** Whether the statements stop at an answer that is too large, or run to their end. */
  readonly onExcess?: 'stop' | 'finish';
  readonly trace?: StatementTrace | undefined;
}

interface Connection {
  readonly stream: { write(bytes: Buffer): boolean; destroy(): unknown };
}

const PgQuery = pg.Query as unknown as new (config: { text: string }) => object;

/**
 * Statements with one Sync behind them: PostgreSQL runs them as one transaction and commits at the Sync; after an error
 * it skips the rest and rolls back. They leave in one write, without `begin`, `commit` and the descriptions of results
 * that nobody reads: +55 % on point reads against a pipelined begin … commit. pg calls the methods as answers arrive,
 * and knows the object as a query of its own.
 */
class Pipeline extends PgQuery {
  readonly #message: Buffer;
  readonly #done: (result: PipelineResult) => void;
  readonly #completed: Rows[] = [];
  readonly #refusals = new Map<AnswerShare, AppError>();
  #rows: (string | null)[][] = [];
  #stream: Connection['stream'] | undefined;
  /** For `trace`: when the statement before had its answer, or the first one was sent. */
  #lastAnswerAt = 0;
  /** pg looks for it. */
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

  submit(connection: Connection): null {
    if (this.options.trace) this.#lastAnswerAt = performance.now();
    this.#stream = connection.stream;
    connection.stream.write(this.#message);
    return null;
  }

  handleDataRow(message: { readonly length: number; readonly fields: (string | null)[] }): void {
    const answer = this.steps[this.#completed.length]?.answer;
    if (answer) {
      if (this.#refusals.has(answer)) return;
      const refusal = answer.take(message.length);
      if (refusal) {
        this.#refuse(answer, refusal);
        return;
      }
    }
    this.#rows.push(message.fields);
  }

  #refuse(answer: AnswerShare, refusal: AppError): void {
    this.#refusals.set(answer, refusal);
    this.#rows = [];
    this.steps.forEach((step, index) => {
      if (step.answer === answer && index < this.#completed.length) this.#completed[index] = [];
    });
    if (this.options.onExcess !== 'stop') return;
    // PostgreSQL ends the statements when it finds nobody to write to.
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

  /** The statement that the answers have come to. */
  #traceNext(): void {
    const step = this.steps[this.#completed.length];
    const { trace } = this.options;
    if (!trace || !step) return;
    const now = performance.now();
    trace(step, now - this.#lastAnswerAt);
    this.#lastAnswerAt = now;
  }

  #end(error?: Error): void {
    this.#done({
      rows: this.#completed,
      refusals: this.#refusals,
      ...(error ? { error } : {}),
    });
  }
}

/** @param isTimed has each statement answered when it ends, which takes the processes more system calls */
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

/** Runs the statements as one transaction on a connection that runs nothing else meanwhile. */
export function runPipeline(
  client: pg.ClientBase,
  steps: readonly PipelineStep[],
  options: PipelineOptions,
): Promise<PipelineResult> {
  return new Promise((resolve) => {
    client.query(new Pipeline(steps, options, resolve) as unknown as pg.Submittable);
  });
}
