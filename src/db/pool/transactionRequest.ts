import type { Span } from '../../foundation/observability/tracing/tracing.js';
import type { ResponseReservation } from './responseBudget.js';
import type { Rows } from '../wire/index.js';
import type { PreparedText } from './preparedStatements.js';

export type { Rows } from '../wire/index.js';

export interface TransactionStatement {
  readonly statement: PreparedText;
  readonly values: readonly unknown[];
}

export interface TransactionRequest {
  /** The tenant whose role runs the statements; null for the service's own. */
  readonly tenantid: number | null;
  readonly mode: 'read' | 'write';
  /** Maximum duration of each statement of a read of the service's own, instead of `statementTimeoutMs`. */
  readonly statementTimeoutMs?: number | undefined;
  readonly statements: readonly TransactionStatement[];
  /** Whether a write only inserts rows. Quick ones of a tenant then share transactions, unless one of them fails. */
  readonly onlyInserts?: boolean;
  /** A write's own bookkeeping: nothing is committed unless all of it succeeds. Costs a second round trip. */
  readonly bracket?: {
    readonly before: TransactionStatement;
    /** Built from the results of the statements. */
    readonly after: (results: readonly Rows[]) => TransactionStatement;
  };
  /** Counts the bytes that arrive; released by the caller. Absent if the result is known to be small. */
  readonly reservation?: ResponseReservation;
  /** The parent of the transaction's span. */
  readonly span?: Span | undefined;
}
