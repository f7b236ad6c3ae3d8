import type { ExecutionResult } from 'graphql';
import { inTransaction, type TransactionClient } from '../../db/pool/inTransaction.js';
import { isServerError, isSessionEnd } from '../../db/sql/sqlState.js';
import type { StatementRunner } from '../../db/sql/statementRunner.js';
import { AppError } from '../../foundation/errors.js';
import { withTimeout } from '../../foundation/withTimeout.js';
import type { GraphqlResponse } from '../../graphql/response.js';
import type { ControlContext, ControlEngineDeps } from '../controlContext.js';
import { executionResponse } from './executionResponse.js';
import { requireResponseWithin } from './responseSize.js';

interface Executed {
  readonly context: ControlContext;
  readonly result: ExecutionResult;
}

/**
 * Executes the mutations of a request as one transaction, which is rolled back if one of them fails. Throws AppError
 * REQUEST_TIMEOUT, OUTCOME_UNKNOWN, and if the response is too large; what `execute` throws.
 */
export async function commitMutations(
  { database, config }: Pick<ControlEngineDeps, 'database' | 'config'>,
  execute: (tx: StatementRunner) => Promise<Executed>,
  reportFieldError: (error: unknown) => void,
): Promise<GraphqlResponse> {
  let isCommitting = false;
  const { response, afterCommit } = await inTransaction(database.pool, async (client) => {
    const tx = untilEnded(client);
    const { context, result } = await withTimeout(execute(tx), config.requestTimeoutMs, () => {
      throw new AppError('REQUEST_TIMEOUT', 'The mutations took too long together, and nothing was changed.');
    }).finally(tx.end);
    // It is rolled back, so the response has no data.
    const shown = result.errors && 'data' in result ? { ...result, data: null } : result;
    const response = executionResponse(shown, reportFieldError);
    if (result.errors) throw new RolledBack(response);
    // Before the commit, so that a response that is too large rolls back.
    requireResponseWithin(result.data, config.maxResponseBytes);
    isCommitting = true;
    return { response, afterCommit: context.afterCommit };
  }).catch((error: unknown) => {
    if (error instanceof RolledBack) return { response: error.response, afterCommit: [] };
    if (!isCommitting || (isServerError(error) && !isSessionEnd(error))) throw error;
    const message = 'The connection broke before the commit was confirmed.';
    throw new AppError('OUTCOME_UNKNOWN', message, { cause: error });
  });
  for (const step of afterCommit) step();
  return response;
}

class RolledBack extends Error {
  constructor(readonly response: GraphqlResponse) {
    super('the mutations are rolled back');
  }
}

/** What still runs when the request gives up must not reach the connection, which is another's soon. */
function untilEnded(client: TransactionClient): StatementRunner & { readonly end: () => void } {
  let hasEnded = false;
  return {
    end: () => void (hasEnded = true),
    async query<Row extends object>(text: string, values?: unknown[]) {
      if (hasEnded) throw new Error('the transaction has ended');
      // eslint-disable-next-line rowpost/static-sql -- `StatementRunner` takes no other
      return client.query<Row>(text, values);
    },
  };
}
