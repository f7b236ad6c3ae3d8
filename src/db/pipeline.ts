import pg from 'pg';
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
  /** What ended the pipeline. The statement at `rows.length` raised it; the commit, when all were completed. */
  readonly error?: Error;
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
  /** pg looks for it. */
  readonly callback = (): void => undefined;

  constructor(steps: readonly PipelineStep[], done: (result: PipelineResult) => void) {
    super({ text: '' });
    this.#message = messageOf(steps);
    this.#done = done;
  }

  submit(connection: { readonly stream: { write(bytes: Buffer): boolean } }): null {
    connection.stream.write(this.#message);
    return null;
  }

  handleDataRow(message: { readonly fields: (string | null)[] }): void {
    this.#rows.push(message.fields);
  }

  handleCommandComplete(): void {
    this.#completed.push(this.#rows);
    this.#rows = [];
  }

  handleReadyForQuery(): void {
    this.#done({ rows: this.#completed });
  }

  handleError(error: Error): void {
    this.#done({ rows: this.#completed, error });
  }
}

function messageOf(steps: readonly PipelineStep[]): Buffer {
  const messages = new WireMessages();
  for (const { text, values, name, parse, close } of steps) {
    for (const gone of close) messages.close(gone);
    if (parse) messages.parse(name, text);
    messages.bind(name, values.map(wireText));
    messages.execute();
  }
  messages.sync();
  return messages.done();
}

/** Runs the statements as one transaction on a connection that runs nothing else meanwhile. */
export function runPipeline(client: pg.PoolClient, steps: readonly PipelineStep[]): Promise<PipelineResult> {
  return new Promise((resolve) => {
    client.query(new Pipeline(steps, resolve) as unknown as pg.Submittable);
  });
}
