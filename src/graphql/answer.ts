import type { ASTNode, GraphQLError } from 'graphql';
import { AppError } from '../errors.js';

export interface GraphqlAnswer {
  /** HTTP status for callers that accept application/graphql-response+json. */
  readonly status: number;
  /** JSON text with data and/or errors. */
  readonly body: string;
  readonly retryAfterSeconds?: number;
  /** Call when the body has been sent: until then its bytes count as in flight. */
  readonly release?: () => void;
}

/** An error with its position in the document and its path in the answer. */
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

/** The request was not executed: syntax, validation, variables, limits. */
export function requestError(error: AppError, graphqlErrors: readonly GraphQLError[] = []): GraphqlAnswer {
  const errors =
    graphqlErrors.length > 0
      ? graphqlErrors.map((item) => describeGraphqlError(item, error))
      : [describe(error)];
  return { status: error.status, body: JSON.stringify({ errors }) };
}

/**
 * Unavailability, rate limits and the wrong cell are visible to callers and proxies. All other errors are part of the operation's own
 * result.
 */
const NOT_NOW: ReadonlySet<number> = new Set([421, 429, 500, 503]);
/** Per the draft for the header Idempotency-Key. */
const OF_REPEATS: ReadonlySet<string> = new Set(['IDEMPOTENCY_IN_FLIGHT', 'IDEMPOTENCY_KEY_REUSED']);

/** Nothing of the operation has a result. */
export function failedAnswer(error: AppError | FieldError): GraphqlAnswer {
  const cause = error instanceof FieldError ? error.error : error;
  const { retryAfterSeconds } = cause;
  return {
    status: NOT_NOW.has(cause.status) || OF_REPEATS.has(cause.code) ? cause.status : 200,
    body: JSON.stringify({ errors: [describe(error)], data: null }),
    ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
  };
}

/** @param fields JSON texts by response key, in the order of the document */
export function dataAnswer(
  fields: readonly (readonly [key: string, json: string])[],
  errors: readonly FieldError[],
): GraphqlAnswer {
  let data = '';
  for (const [key, json] of fields) data += `${data === '' ? '' : ','}"${key}":${json}`;
  const prefix =
    errors.length > 0 ? `{"errors":${JSON.stringify(errors.map(describe))},"data":{` : '{"data":{';
  return { status: 200, body: `${prefix}${data}}}` };
}

function describe(error: AppError | FieldError): object {
  if (error instanceof AppError) return { message: error.message, extensions: extensions(error) };
  const locations = error.nodes.flatMap(placeOf);
  return {
    message: error.message,
    ...(locations.length > 0 ? { locations } : {}),
    path: error.path,
    extensions: extensions(error.error),
  };
}

/** The parser knows it. A GraphQLError would count lines from the start of the document for every error. */
function placeOf({ loc }: ASTNode): readonly { line: number; column: number }[] {
  return loc ? [{ line: loc.startToken.line, column: loc.startToken.column }] : [];
}

function describeGraphqlError(item: GraphQLError, error: AppError): object {
  const own = item.originalError instanceof AppError ? item.originalError : error;
  return { ...item.toJSON(), extensions: extensions(own) };
}

function extensions(error: AppError): object {
  return { ...error.details, code: error.code, hint: error.hint };
}
