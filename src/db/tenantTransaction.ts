import type { Pool, PoolClient } from 'pg';
import { AppError } from '../errors.js';
import { PreparedStatements, type PreparedText } from './preparedStatements.js';
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
}

/** Rows of one statement, each a list of its columns. */
export type Rows = readonly (readonly (string | null)[])[];

export type TransactionOutcome =
  | { readonly kind: 'done'; readonly results: readonly Rows[] }
  /** Nothing was changed, unless the error is OUTCOME_UNKNOWN. `statement` is the index of the one that failed. */
  | { readonly kind: 'failed'; readonly error: AppError; readonly statement: number | undefined };

/** The database role of a tenant: it owns the tenant's schema and can reach nothing else. */
export function tenantRole(tenantid: number): string {
  return `tenant_${tenantid}`;
}

/**
 * Runs statements in one transaction under one role. `begin`, the role, the statements and `commit` leave in one write
 * and cost one round trip, so a statement that must stop the commit has to fail in PostgreSQL.
 */
export class Transactions {
  readonly #prepared = new PreparedStatements();

  constructor(private readonly pool: Pool) {}

  async run(request: TransactionRequest): Promise<TransactionOutcome> {
    let client: PoolClient;
    try {
      client = await this.pool.connect();
    } catch (error) {
      const message = 'No connection to the database could be had.';
      return failed(new AppError('DATABASE_UNAVAILABLE', message, { cause: error }));
    }
    // The queries in hand report a broken connection; without a listener it would end the process.
    const alreadyReported = (): void => undefined;
    client.on('error', alreadyReported);
    const steps = await sendAll(client, [
      { text: opening(request) },
      ...request.statements.map((item) => this.#toQuery(client, item)),
      { text: 'commit' },
    ]);
    client.removeListener('error', alreadyReported);
    const outcome = judge(request, steps);
    client.release(steps.some((step) => step.error !== undefined && !isUsable(step.error)));
    return outcome;
  }

  #toQuery(client: PoolClient, { statement, values }: TransactionStatement): Query {
    const { name, drop } = this.#prepared.use(client, statement);
    if (drop !== undefined) dropPrepared(client, drop);
    return { text: statement.text, values, ...(name === undefined ? {} : { name }) };
  }
}

interface Query {
  readonly text: string;
  readonly values?: readonly unknown[];
  readonly name?: string;
}

interface Step {
  readonly error?: Error;
  readonly rows?: Rows;
  readonly command?: string;
}

function opening({ role, mode, statements }: TransactionRequest): string {
  // Several reads of one request see one moment.
  const snapshot = mode === 'read' && statements.length > 1 ? ' isolation level repeatable read' : '';
  const begin = `begin${snapshot}${mode === 'read' ? ' read only' : ''}`;
  return role === null ? begin : `${begin}; select set_config('role', '${role}', true)`;
}

/** Sends every query in one write and waits for all the answers. */
function sendAll(client: PoolClient, queries: readonly Query[]): Promise<readonly Step[]> {
  return new Promise((resolve) => {
    const steps: Step[] = [];
    const { stream } = client.connection;
    stream.cork();
    for (const { text, values, name } of queries) {
      const config = {
        text,
        rowMode: 'array' as const,
        ...(values === undefined || values.length === 0 ? {} : { values: [...values] }),
        ...(name === undefined ? {} : { name }),
      };
      client.query(config, (error: Error | null | undefined, result?: { rows: Rows; command: string }) => {
        steps.push(error ? { error } : { rows: result?.rows ?? [], command: result?.command ?? '' });
        if (steps.length === queries.length) resolve(steps);
      });
    }
    stream.uncork();
  });
}

function judge(request: TransactionRequest, steps: readonly Step[]): TransactionOutcome {
  // The first error is the cause; what follows it only says that the transaction is over.
  const failedAt = steps.findIndex((step) => step.error !== undefined);
  const error = steps[failedAt]?.error;
  if (error === undefined) {
    if (steps.at(-1)?.command !== 'COMMIT') {
      return failed(new AppError('INTERNAL_ERROR', 'The transaction was rolled back.'));
    }
    return { kind: 'done', results: steps.slice(1, -1).map((step) => step.rows ?? []) };
  }
  const committing = failedAt === steps.length - 1;
  const answered = isDatabaseAnswer(error) && !(committing && isSessionEnd(error));
  if (request.mode === 'write' && !answered) {
    const message = 'The connection broke before the commit was confirmed.';
    return failed(new AppError('OUTCOME_UNKNOWN', message, { cause: error }));
  }
  if (failedAt === 0 && answered && !isSessionEnd(error)) {
    return failed(new AppError('INTERNAL_ERROR', 'The tenant has no database role.', { cause: error }));
  }
  return failed(toAppError(error), committing ? undefined : failedAt - 1);
}

function failed(error: AppError, statement?: number): TransactionOutcome {
  return { kind: 'failed', error, statement };
}

/** A connection goes back to the pool only when PostgreSQL answered all along and stays with us. */
function isUsable(error: Error): boolean {
  return isDatabaseAnswer(error) && !isSessionEnd(error);
}

/** Outside the transaction and before it: an error here (never parsed after all) changes nothing. */
function dropPrepared(client: PoolClient, name: string): void {
  client.query(`deallocate ${name}`, () => {
    const { parsedStatements } = client.connection as { parsedStatements?: Record<string, string> };
    // eslint-disable-next-line @typescript-eslint/no-dynamic-delete -- pg keeps the texts of named statements here
    if (parsedStatements) delete parsedStatements[name];
  });
}
