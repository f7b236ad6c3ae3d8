import type { ASTNode, GraphQLError, GraphQLFormattedError } from 'graphql';
import { sqlState } from '../db/sql/sqlState.js';
import type { ResponseReservation } from '../db/pool/responseBudget.js';
import { AppError, shortened, type ErrorCode } from '../foundation/errors.js';

export interface GraphqlResponse {
  /** HTTP status for callers that accept application/graphql-response+json. */
  readonly status: number;
  /** JSON text with data and/or errors. */
  readonly body: string;
  readonly retryAfterSeconds?: number;
  /** Why the operation as a whole failed, for the log. */
  readonly failure?: { readonly code: ErrorCode; readonly cause: string | undefined };
  /** To be called once the body has been sent: until then its bytes count as in flight. */
  readonly release?: () => void;
}

/** An error with its position in the document and its path in the response. */
export class FieldError extends Error {
  constructor(
    readonly error: AppError,
    readonly path: readonly (string | number)[],
    readonly nodes: readonly ASTNode[] = [],
  ) {
    super(error.message, { cause: error });
    this.name = 'FieldError';
  }
}

/** Does the work of a field, to which its errors are then attributed. */
export function atField<T>(path: readonly string[], nodes: readonly ASTNode[], work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw error instanceof AppError ? new FieldError(error, path, nodes) : error;
  }
}

/** The request was not executed: syntax, validation, variables, limits. */
export function requestError(error: AppError, graphqlErrors: readonly GraphQLError[] = []): GraphqlResponse {
  const errors =
    graphqlErrors.length > 0
      ? graphqlErrors.map((item) => describeGraphqlError(item, error))
      : [describe(error)];
  return { status: error.status, body: JSON.stringify({ errors }) };
}

/**
 * Callers and proxies see unavailability, rate limits and the wrong cell in the HTTP status. All other errors are only part of the
 * operation's result.
 */
const VISIBLE_STATUSES: ReadonlySet<number> = new Set([421, 429, 500, 503]);
/** Errors with a status of their own, see the Idempotency-Key header draft. */
const IDEMPOTENCY_CODES: ReadonlySet<string> = new Set([
  'IDEMPOTENCY_IN_FLIGHT',
  'IDEMPOTENCY_KEY_REUSED',
  'IDEMPOTENCY_RESPONSE_NOT_KEPT',
]);

/** The operation as a whole failed. */
export function failedResponse(error: AppError | FieldError): GraphqlResponse {
  const cause = error instanceof FieldError ? error.error : error;
  const { retryAfterSeconds } = cause;
  return {
    status: VISIBLE_STATUSES.has(cause.status) || IDEMPOTENCY_CODES.has(cause.code) ? cause.status : 200,
    body: JSON.stringify({ errors: [describe(error)], data: null }),
    failure: { code: cause.code, cause: sqlState(cause.cause) },
    ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
  };
}

/** An operation's result: JSON text by response key, in the order of the document. */
export interface Execution {
  readonly fields: readonly (readonly [key: string, json: string])[];
  readonly errors: readonly FieldError[];
}

/** The response to an operation whose data was counted as it arrived; its errors are counted now. Throws AppError. */
export function respond(execution: Execution, reservation: ResponseReservation): GraphqlResponse {
  const { fields, errors } = execution;
  const body = responseBody(execution);
  if (errors.length > 0) {
    const refusal = reservation.reserve(body.length - fields.reduce((sum, [, json]) => sum + json.length, 0));
    if (refusal) throw refusal;
  }
  return { status: 200, body };
}

export function responseBody({ fields, errors }: Execution): string {
  let data = '';
  for (const [key, json] of fields) data += `${data === '' ? '' : ','}"${key}":${json}`;
  const prefix =
    errors.length > 0 ? `{"errors":${JSON.stringify(errors.map(describe))},"data":{` : '{"data":{';
  return `${prefix}${data}}}`;
}

function describe(error: AppError | FieldError): object {
  if (error instanceof AppError) return { message: error.message, extensions: extensionsOf(error) };
  const locations = error.nodes.flatMap(locationOf);
  return {
    message: error.message,
    ...(locations.length > 0 ? { locations } : {}),
    path: error.path,
    extensions: extensionsOf(error.error),
  };
}

/** Taken from the parser: a GraphQLError would count lines from the start of the document for every error. */
function locationOf({ loc }: ASTNode): readonly { line: number; column: number }[] {
  return loc ? [{ line: loc.startToken.line, column: loc.startToken.column }] : [];
}

function describeGraphqlError(item: GraphQLError, error: AppError): object {
  const own = item.originalError instanceof AppError ? item.originalError : error;
  return { ...graphqlErrorJson(item), extensions: extensionsOf(own) };
}

/** Messages of graphql-js repeat values that the caller sent, each of them several times. */
export function graphqlErrorJson(item: GraphQLError): GraphQLFormattedError {
  return { ...item.toJSON(), message: shortened(item.message) };
}

/** What a GraphQL error says beside its message. */
export function extensionsOf(error: AppError): object {
  return { ...error.details, code: error.code, hint: error.hint };
}
