import type pg from 'pg';
import type { SqlText } from '../sql/sql.js';
import { inOneWrite, wireText } from '../wire/index.js';

/** A statement of the ledger. With a name it is prepared once per connection. */
export interface LedgerStatement {
  readonly name?: string;
  readonly text: SqlText;
}

/** How relay and worker access the outbox, the batches and the deliveries. */
export interface Ledger {
  /** Runs one statement, which is a transaction of its own. */
  query<Row>(statement: LedgerStatement, values: readonly unknown[]): Promise<Row[]>;
  /** Runs statements as one transaction, sent together. @returns the rows of each. */
  transaction(steps: readonly (readonly [LedgerStatement, readonly unknown[]])[]): Promise<unknown[][]>;
}

/**
 * The ledger's statements look up few rows of large partitioned tables by key, whatever the arrays passed in. A generic
 * plan suits them, and planning over all partitions each time takes longer than running them. Statistics of tables that
 * fill within seconds are always stale: without these settings the planner occasionally scans whole partitions.
 */
export const PLANNER_OPTIONS = [
  'plan_cache_mode=force_generic_plan',
  'enable_seqscan=off',
  'enable_hashjoin=off',
  'enable_mergejoin=off',
]
  .map((option) => `-c ${option}`)
  .join(' ');

/** @param pool used only by the ledger, with `PLANNER_OPTIONS` set on its connections */
export function createLedger(pool: pg.Pool): Ledger {
  return {
    async query<Row>(statement: LedgerStatement, values: readonly unknown[]) {
      const { rows } = await pool.query({ values: valuesOf(values), ...statement });
      return rows as Row[];
    },
    transaction: (steps) => runTransaction(pool, steps),
  };
}

/** pg's own arrays take far longer, if texts in them are nothing but quotes. */
const valuesOf = (values: readonly unknown[]): unknown[] =>
  values.map((value) => (Array.isArray(value) ? wireText(value) : value));

/**
 * Statements of a transaction are sent together, so an idle transaction has lost its client and must not hold its locks
 * until the connection times out: other relays need them.
 */
const BEGIN = `begin; set local idle_in_transaction_session_timeout = '2s'`;

async function runTransaction(
  pool: pg.Pool,
  steps: readonly (readonly [LedgerStatement, readonly unknown[]])[],
): Promise<unknown[][]> {
  const client = await pool.connect();
  try {
    const responses = inOneWrite(client, () => [
      client.query(BEGIN),
      ...steps.map(([statement, values]) => client.query({ values: valuesOf(values), ...statement })),
      // Rolls back when a step has failed.
      client.query('commit'),
    ]);
    const results = await Promise.allSettled(responses);
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
