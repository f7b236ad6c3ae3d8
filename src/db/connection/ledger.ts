import type pg from 'pg';
import { inOneWrite } from './oneWrite.js';

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
}

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

/** Statements over a pool of its own, whose connections plan as `PLANNER_OPTIONS` says. */
export function createLedger(pool: pg.Pool): Ledger {
  return {
    async query<Row>(statement: LedgerStatement, values: readonly unknown[]) {
      const { rows } = await pool.query({ ...statement, values: [...values] });
      return rows as Row[];
    },
    transaction: (steps) => runTransaction(pool, steps),
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
