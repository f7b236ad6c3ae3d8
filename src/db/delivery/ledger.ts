import pg from 'pg';
import type { Database } from '../database.js';
import { limitMessages } from '../connection/messageLimit.js';
import { inOneWrite } from '../oneWrite.js';

/** A statement of the ledger. With a name it is prepared once per connection. */
export interface LedgerStatement {
  readonly name?: string;
  readonly text: string;
}

/** The way of relay and worker to the outbox, the batches and the deliveries. */
export interface Ledger {
  /** Runs one statement, which is a transaction of its own. */
  query<Row>(statement: LedgerStatement, values: readonly unknown[]): Promise<Row[]>;
  /** Runs statements as one transaction, sent together. @returns the rows of each. */
  transaction(steps: readonly (readonly [LedgerStatement, readonly unknown[]])[]): Promise<unknown[][]>;
  close(): Promise<void>;
}

const POOL_SIZE = 6;

/**
 * The ledger's statements find few rows of large partitioned tables by key, whatever the arrays they are given. A plan
 * made once for all values is right for them, and planning it each time over all partitions takes longer than running
 * it. Statistics of tables that fill within seconds are always stale: without these settings the planner at times
 * reads whole partitions.
 */
export const PLANNER_OPTIONS = [
  'plan_cache_mode=force_generic_plan',
  'enable_seqscan=off',
  'enable_hashjoin=off',
  'enable_mergejoin=off',
]
  .map((option) => `-c ${option}`)
  .join(' ');

/** Opens a pool of its own, so that tenants' queries never keep the ledger waiting for a connection. */
export function openLedger(database: Database, onIdleError: (error: Error) => void): Ledger {
  const base = database.pool.options;
  const pool = new pg.Pool({
    ...base,
    max: POOL_SIZE,
    options: `${base.options ?? ''} ${PLANNER_OPTIONS}`,
  });
  pool.on('error', onIdleError);
  // A connection that breaks while a transaction holds it says so twice: its statements reject, and it emits an error,
  // which would end the process if nobody listened.
  pool.on('connect', (client) => {
    client.on('error', () => undefined);
    limitMessages(client);
  });
  return {
    async query<Row>(statement: LedgerStatement, values: readonly unknown[]) {
      const { rows } = await pool.query({ ...statement, values: [...values] });
      return rows as Row[];
    },
    transaction: (steps) => runTransaction(pool, steps),
    close: () => pool.end(),
  };
}

/**
 * Its statements are sent together, so one that stands still has lost its client, and must not keep its locks from the
 * other relays until the connection is given up.
 */
const BEGIN = `begin; set local idle_in_transaction_session_timeout = '2s'`;

async function runTransaction(
  pool: pg.Pool,
  steps: readonly (readonly [LedgerStatement, readonly unknown[]])[],
): Promise<unknown[][]> {
  const client = await pool.connect();
  try {
    const answers = inOneWrite(client, () => [
      client.query(BEGIN),
      ...steps.map(([statement, values]) => client.query({ ...statement, values: [...values] })),
      // Rolls back when a step has failed.
      client.query('commit'),
    ]);
    const results = await Promise.allSettled(answers);
    const failed = results.find((result) => result.status === 'rejected');
    if (failed) throw failed.reason;
    client.release();
    return results
      .slice(1, -1)
      .map((result) => (result.status === 'fulfilled' ? (result.value.rows as unknown[]) : []));
  } catch (error) {
    client.release(error instanceof Error ? error : true);
    throw error;
  }
}
