import { GraphQLError, type ASTNode } from 'graphql';
import { AppError } from '../errors.js';

export interface GraphqlAnswer {
  /** HTTP status for callers that accept application/graphql-response+json. */
  readonly status: number;
  /** JSON text with data and/or errors. */
  readonly body: string;
  readonly retryAfterSeconds?: number;
  /** To be called when the body has left: until then its bytes count as held. */
  readonly release?: () => void;
}

/** An error with the place it belongs to in the document and in the answer. */
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

/** The request never ran: syntax, validation, variables, limits. */
export function requestError(error: AppError, graphqlErrors: readonly GraphQLError[] = []): GraphqlAnswer {
  const errors =
    graphqlErrors.length > 0
      ? graphqlErrors.map((item) => describeGraphqlError(item, error))
      : [describe(error)];
  return { status: error.status, body: JSON.stringify({ errors }) };
}

/** Nothing of the operation has a result. */
export function failedAnswer(error: AppError | FieldError, retryAfterSeconds?: number): GraphqlAnswer {
  const cause = error instanceof FieldError ? error.error : error;
  return {
    // The service could not answer now: callers and proxies should see that. All else is the operation's own result.
    status: cause.status === 503 || cause.status === 500 ? cause.status : 200,
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
  const placed = new GraphQLError(error.message, { nodes: error.nodes, path: error.path });
  return {
    message: error.message,
    ...(placed.locations ? { locations: placed.locations } : {}),
    path: error.path,
    extensions: extensions(error.error),
  };
}

function describeGraphqlError(item: GraphQLError, error: AppError): object {
  const own = item.originalError instanceof AppError ? item.originalError : error;
  return { ...item.toJSON(), extensions: extensions(own) };
}

function extensions(error: AppError): object {
  return { ...error.details, code: error.code, hint: error.hint };
}
