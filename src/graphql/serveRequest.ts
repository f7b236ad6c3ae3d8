import type { Principal } from '../db/roles/principal.js';
import { toAppError } from '../db/sql/toAppError.js';
import { AppError } from '../foundation/errors.js';
import type { Span } from '../foundation/observability/tracing/tracing.js';
import type { Allowance } from './allowance.js';
import { DocumentError } from './document/document.js';
import type { Engine } from './engine.js';
import { execute } from './execute.js';
import { respondOnce, type IdempotencyKey } from './idempotency.js';
import type { GraphqlRequest } from './plan/planRequest.js';
import { redirectIfMoved } from './redirectIfMoved.js';
import { failedResponse, FieldError, requestError, type GraphqlResponse } from './response.js';

export interface RequestOptions {
  readonly allowMutation: boolean;
  readonly allowance?: Allowance | undefined;
  /** Of a mutation. */
  readonly idempotencyKey?: IdempotencyKey | undefined;
  /** For log messages. */
  readonly requestId?: string | undefined;
  readonly span?: Span | undefined;
  /** Where a query reads: a replica may lag slightly. Defaults to the role's setting. */
  readonly readFrom?: 'primary' | 'replica' | undefined;
}

/** Executes a request within the limits of all responses. Never throws for caller errors, which are part of the response. */
export async function serveRequest(
  engine: Engine,
  principal: Principal,
  request: GraphqlRequest,
  { idempotencyKey, requestId, readFrom, ...options }: RequestOptions,
): Promise<GraphqlResponse> {
  const { tenantid, schema } = principal;
  const readsReplica = readFrom === undefined ? principal.readsReplica : readFrom === 'replica';
  const key = options.allowMutation && schema !== null ? idempotencyKey : undefined;
  const reservation = engine.responses.open(tenantid);
  try {
    const response = await redirectIfMoved(engine, tenantid, () =>
      respondOnce(engine.transactions, principal, request, { key, reservation }, (idempotency) => {
        const reads = readsReplica ? engine.replicas.reads() : undefined;
        return execute(engine, principal, request, { reservation, idempotency, reads, ...options });
      }),
    );
    return { release: reservation.release, ...response };
  } catch (error) {
    reservation.release();
    return errorResponse(error, (cause) =>
      engine.internalErrors.report(cause, 'a request failed', tenantid, requestId),
    );
  }
}

/** @param report of an error that is ours */
function errorResponse(error: unknown, report: (error: AppError) => void): GraphqlResponse {
  if (error instanceof DocumentError) return requestError(error.error, error.graphqlErrors);
  const shown = error instanceof FieldError || error instanceof AppError ? error : toAppError(error);
  const cause = shown instanceof FieldError ? shown.error : shown;
  if (cause.code === 'INTERNAL_ERROR') report(cause);
  if (cause.code === 'METHOD_NOT_ALLOWED') return requestError(cause);
  return failedResponse(shown);
}
