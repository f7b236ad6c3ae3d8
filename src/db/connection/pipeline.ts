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
}

/** Rows of one statement, each a list of its columns as text. */
export type Rows = readonly (readonly (string | null)[])[];

export interface PipelineResult {
  /** Of the statements that were completed. */
  readonly rows: readonly Rows[];
  /** What the answer was refused for while it arrived; rows that came later were not kept. */
  readonly refusal?: AppError;
  /** What ended the pipeline. The statement at `rows.length` raised it; the commit, when all were completed. */
  readonly error?: Error;
}

/** How much of an answer may be kept, and whether the statements stop with it or run to their end. */
export interface AnswerLimit {
  readonly share: AnswerShare;
  readonly onExcess: 'stop' | 'finish';
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
  #rows: (string | null)[][] = [];
  #refusal: AppError | undefined;
  #stream: Connection['stream'] | undefined;
  /** For `trace`: when the statement before had its answer, or the first one was sent. */
  #lastAnswerAt = 0;
  /** pg looks for it. */
  readonly callback = (): void => undefined;

  constructor(
    private readonly steps: readonly PipelineStep[],
    private readonly answer: AnswerLimit | undefined,
    private readonly trace: StatementTrace | undefined,
    done: (result: PipelineResult) => void,
  ) {
    super({ text: '' });
    this.#message = messageOf(steps, trace !== undefined);
    this.#done = done;
  }

  submit(connection: Connection): null {
    if (this.trace) this.#lastAnswerAt = performance.now();
    this.#stream = connection.stream;
    connection.stream.write(this.#message);
    return null;
  }

  handleDataRow(message: { readonly length: number; readonly fields: (string | null)[] }): void {
    if (this.#refusal) return;
    this.#refusal = this.answer?.share.take(message.length);
    if (!this.#refusal) {
      this.#rows.push(message.fields);
      return;
    }
    this.#completed.fill([]);
    this.#rows = [];
    if (this.answer?.onExcess !== 'stop') return;
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
    if (!this.trace || !step) return;
    const now = performance.now();
    this.trace(step, now - this.#lastAnswerAt);
    this.#lastAnswerAt = now;
  }

  #end(error?: Error): void {
    this.#done({
      rows: this.#completed,
      ...(this.#refusal ? { refusal: this.#refusal } : {}),
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
  {
    answer,
    trace,
  }: { readonly answer?: AnswerLimit | undefined; readonly trace?: StatementTrace | undefined },
): Promise<PipelineResult> {
  return new Promise((resolve) => {
    client.query(new Pipeline(steps, answer, trace, resolve) as unknown as pg.Submittable);
  });
}
